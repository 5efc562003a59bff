package serve

import (
	"context"

	"github.com/toolfold/toolfold/content"
)

// Prompt is a text that a person picks in a host, most often as a command: what it
// makes is sent to the model as if the person had written it.
//
// Hosts make a command of the name, so it has lower case letters, digits and hyphens
// alone. Some of them cut what follows a command at blanks, whatever its quotes, and
// give arguments in order: one argument at most works everywhere.
type Prompt struct {
	Name      string
	Title     string // for people; empty = the name. A title with blanks breaks commands of some hosts
	Doc       string // for people who choose, and for models
	Arguments []Argument

	// Get returns the messages. All arguments that are required are there, and none that
	// is not declared. It may call [toolfold.Sample].
	Get func(ctx context.Context, arguments map[string]string) ([]Message, error)
}

// Argument is a value that a prompt takes, as text.
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

// Completer returns values that may follow what was typed of an argument, the likely
// ones first; clients get at most 100. Others are the arguments that are known already.
type Completer func(ctx context.Context, typed string, others map[string]string) ([]string, error)

// Resource is something that clients may read: what is at one URI, or, where the URI
// is a template of RFC 6570 such as note://{id}, at each that it matches.
type Resource struct {
	URI  string
	Name string
	Doc  string
	MIME string // media type of what Read returns; empty = it differs

	// Read returns what is at a URI. A [*toolfold.Error] says that there is nothing there
	// for the caller, but for those of the codes INTERNAL_ERROR, TIMEOUT, CANCELLED and
	// UPSTREAM_ERROR.
	Read func(ctx context.Context, at Location) (content.Held, error)

	// List returns those of a template that are worth a place in a list. Nil lists none:
	// they are read by their URI all the same. What is at one URI is always listed.
	List func(ctx context.Context) ([]content.Link, error)

	Complete map[string]Completer // by variable of the template

	// Version returns what changes with what is at a URI, such as when it was written; empty
	// where nothing is. While a client watches the URI it is asked every two seconds, and by
	// [Server.Updated]: so clients are told also of what another process changed. Nil says
	// that all changes are told by Updated.
	Version func(ctx context.Context, at Location) (string, error)
}

// Location holds the URI of a resource, to be read.
type Location struct {
	URI    string
	Values map[string]string // of the variables of the template, decoded
}
