package serve

import (
	"context"

	"github.com/toolfold/toolfold/content"
)

// Prompt is a text that a person picks in a host, most often as a command. Its messages are sent to the model
// as if the person had written them.
//
// Hosts make a command of the name, so use lower case letters, digits and hyphens only. Some hosts split the
// text behind a command at blanks, even inside quotes, and pass arguments in order: only one argument works
// everywhere.
type Prompt struct {
	Name      string
	Title     string // for people; empty = the name. A title with blanks breaks commands of some hosts
	Doc       string // for people who choose, and for models
	Arguments []Argument

	// Get returns the messages. Arguments has every required argument, and no undeclared one. Get may call
	// [toolfold.Sample].
	Get func(ctx context.Context, arguments map[string]string) ([]Message, error)
}

// Argument is a text value that a prompt takes.
type Argument struct {
	Name     string
	Doc      string
	Required bool
	Complete Completer // nil = no values are suggested
}

// Message is a part of a prompt.
type Message struct {
	Role    string // user or assistant; empty = user
	Content content.Block
}

// Completer returns values that may complete the typed text of an argument, likely ones first.
// Clients get at most 100. others are the arguments that are known already.
type Completer func(ctx context.Context, typed string, others map[string]string) ([]string, error)

// Resource is something that clients may read, at one URI, or at every URI that matches a template of RFC 6570
// such as note://{id}.
type Resource struct {
	URI  string
	Name string
	Doc  string
	MIME string // media type of the content; empty = it differs

	// Read returns the content at a URI. A [*toolfold.Error] means that there is nothing there for the caller,
	// unless its code is INTERNAL_ERROR, TIMEOUT, CANCELLED or UPSTREAM_ERROR.
	Read func(ctx context.Context, at Location) (content.Data, error)

	// List returns the resources of a template that are worth a place in a list. Nil lists none: they can
	// still be read by their URI. A resource at one URI is always listed.
	List func(ctx context.Context) ([]content.Link, error)

	// Hidden omits a template from the list of templates. Its URIs, from earlier versions, can
	// still be read.
	Hidden bool

	Complete map[string]Completer // by variable of the template

	// Version returns a value that changes with the content at a URI, such as the time of its last
	// write. It is empty if there is nothing. While a client watches the URI, the server calls
	// Version every two seconds and on [Server.Updated]. So clients also learn of changes by other
	// processes. Nil = Updated reports every change.
	Version func(ctx context.Context, at Location) (string, error)
}

// Location holds the URI of a resource, to be read.
type Location struct {
	URI    string
	Values map[string]string // of the variables of the template, decoded
}
