package registry

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/unseen"
)

// Server is a server.json of a registry. Texts are unchanged; use [DisplayText] to display them.
type Server struct {
	Name        string // such as io.github.owner/server
	Title       string
	Description string
	Version     string
	WebsiteURL  string
	Repository  struct{ URL string }
	Packages    []Package
	Remotes     []Transport

	Status string `json:"-"` // active, deprecated or deleted; empty = unknown
	Older  bool   `json:"-"` // the registry has a newer version
}

// Package is a way to start the server on the user's machine.
type Package struct {
	RegistryType    string // npm, pypi, oci, nuget or mcpb
	RegistryBaseURL string // empty = the default of its type
	Identifier      string
	Version         string
	FileSHA256      string
	RuntimeHint     string
	Transport       Transport

	RuntimeArguments     []Argument
	PackageArguments     []Argument
	EnvironmentVariables []KeyValue
}

// Transport describes the connection to a server: stdio or a URL.
type Transport struct {
	Type      string // stdio, streamable-http or sse
	URL       string // may have {variables}
	Headers   []KeyValue
	Variables map[string]Input
}

// Input is a value, fixed or from the user.
type Input struct {
	Description string
	Format      string // string, number, boolean or filepath; empty = string
	Default     string
	Placeholder string
	Value       string // fixed, with {variables}; empty = the user provides it
	IsRequired  bool
	IsSecret    bool
	Choices     []string
	Variables   map[string]Input
}

// KeyValue is an environment variable or a header.
type KeyValue struct {
	Name string
	Input
}

// Argument is an argument of a command line.
type Argument struct {
	Type       string // positional or named
	Name       string // of a named argument, with its dashes
	ValueHint  string // the name of a positional argument
	IsRepeated bool
	Input
}

// DisplayText returns a text of a registry for display: on one line, without hidden characters.
func DisplayText(text string) string { return strings.Join(strings.Fields(unseen.Removed(text)), " ") }

// Valid names and versions.
var (
	serverName = regex.Lazy(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)
	pinned     = regex.Lazy(`^v?[0-9][0-9A-Za-z.+!_-]*$`)
	wildcard   = regex.Lazy(`(^|\.)[xX*](\.|$)`)
	variable   = regex.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
	header     = regex.Lazy("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// Limits of a server.json.
const (
	maxName   = 200  // bytes of the name of a server
	maxWays   = 32   // packages, and remotes
	maxInputs = 64   // values of a package or remote
	maxText   = 4096 // bytes of any text
)

// IsName reports whether a text is a valid name of a server.
func IsName(name string) bool { return len(name) <= maxName && serverName().MatchString(name) }

// check returns an error for an invalid server, or one with hidden characters.
func (s Server) check() error {
	switch {
	case !IsName(s.Name):
		return fmt.Errorf("the name %s is not valid", quote(s.Name))
	case len(s.Packages) > maxWays || len(s.Remotes) > maxWays:
		return fmt.Errorf("%d packages and %d remotes are too many: at most %d of each", len(s.Packages), len(s.Remotes), maxWays)
	}
	return plain(map[string]string{"title": s.Title, "version": s.Version, "websiteUrl": s.WebsiteURL, "repository": s.Repository.URL})
}

// plain returns an error for texts with hidden characters, or that are too long.
func plain(texts map[string]string) error {
	for name, text := range texts {
		if len(text) > maxText {
			return fmt.Errorf("its %s has %d bytes, and at most %d are allowed", name, len(text), maxText)
		}
		if r, hides := unseen.First(text); hides {
			return fmt.Errorf("its %s has the character %U, which is not seen", name, r)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("its %s has control characters", name)
		}
	}
	return nil
}

// checkNoVariable returns an error for a text in which settings would fill in a variable or secret
// of the user.
func checkNoVariable(name, text string) error {
	if hosts.HasVariable(text) {
		return fmt.Errorf("its %s %s asks for a variable of yours", name, quote(text))
	}
	return nil
}

// checkVersion returns an error unless a text is one exact version, not a range or a moving name.
func checkVersion(version string) error {
	if !pinned().MatchString(version) || wildcard().MatchString(version) || len(version) > 255 {
		return fmt.Errorf("its version %s is not one version, so it cannot be pinned", quote(version))
	}
	return nil
}

// checkURL returns an error for a server's URL that is not encrypted, or has credentials.
func checkURL(address string) error {
	at, err := url.Parse(address)
	switch {
	case err != nil || at.Host == "":
		return fmt.Errorf("its address %s is not valid", quote(address))
	case at.Scheme != "https":
		return fmt.Errorf("its address %s is not https", quote(address))
	case at.User != nil:
		return fmt.Errorf("its address has a name and password")
	}
	return nil
}

// quote returns a text of the registry for errors.
func quote(text string) string {
	if text = DisplayText(text); len(text) > 100 {
		text = text[:100] + "…"
	}
	return fmt.Sprintf("%q", text)
}
