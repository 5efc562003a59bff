package registry

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/unseen"
)

// Server is a server.json, as a registry has it. Texts are as they came: [Shown] cleans them for people.
type Server struct {
	Name        string // such as io.github.owner/server
	Title       string
	Description string
	Version     string
	WebsiteURL  string
	Repository  struct{ URL string }
	Packages    []Package
	Remotes     []Transport

	Status string `json:"-"` // active, deprecated or deleted; empty = the registry has none
	Older  bool   `json:"-"` // the registry says that there is a newer version
}

// Package is a way to start the server on the user's machine.
type Package struct {
	RegistryType    string // npm, pypi, oci, nuget or mcpb
	RegistryBaseURL string // empty = the usual one of its type
	Identifier      string
	Version         string
	FileSHA256      string
	RuntimeHint     string
	Transport       Transport

	RuntimeArguments     []Argument
	PackageArguments     []Argument
	EnvironmentVariables []KeyValue
}

// Transport is how the server is talked to: stdio, or a URL.
type Transport struct {
	Type      string // stdio, streamable-http or sse
	URL       string // may have {variables}
	Headers   []KeyValue
	Variables map[string]Input
}

// Input is a value, or what the user is asked for.
type Input struct {
	Description string
	Format      string // string, number, boolean or filepath; empty = string
	Default     string
	Placeholder string
	Value       string // fixed, with {variables}; empty = the user gives it
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

// Argument is one of a command line.
type Argument struct {
	Type       string // positional or named
	Name       string // of a named one, with its dashes
	ValueHint  string // what a positional one is called
	IsRepeated bool
	Input
}

// Shown returns a text of a registry for people: on one line, without characters that hide.
func Shown(text string) string { return strings.Join(strings.Fields(unseen.Removed(text)), " ") }

// Forms of names and versions.
var (
	serverName = regex.Lazy(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)
	pinned     = regex.Lazy(`^v?[0-9][0-9A-Za-z.+!_-]*$`)
	wildcard   = regex.Lazy(`(^|\.)[xX*](\.|$)`)
	variable   = regex.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
	header     = regex.Lazy("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// Bounds of a server.json.
const (
	maxName   = 200  // bytes of the name of a server
	maxWays   = 32   // packages, and remotes
	maxInputs = 64   // values of one of them
	maxText   = 4096 // bytes of any text
)

// IsName reports whether a server can have a name.
func IsName(name string) bool { return len(name) <= maxName && serverName().MatchString(name) }

// check refuses a server that is not as its schema has it, or tries to hide something.
func (s Server) check() error {
	switch {
	case !IsName(s.Name):
		return fmt.Errorf("the name %s is not valid", quoted(s.Name))
	case len(s.Packages) > maxWays || len(s.Remotes) > maxWays:
		return fmt.Errorf("%d packages and %d remotes are too many: at most %d of each", len(s.Packages), len(s.Remotes), maxWays)
	}
	return plain(map[string]string{"title": s.Title, "version": s.Version, "websiteUrl": s.WebsiteURL, "repository": s.Repository.URL})
}

// plain refuses texts that have characters which hide, or are too long.
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

// fixed refuses a text of the registry in which the settings would fill in a variable or a secret of the user.
func fixed(name, text string) error {
	if hosts.HasVariable(text) {
		return fmt.Errorf("its %s %s asks for a variable of yours", name, quoted(text))
	}
	return nil
}

// checkVersion refuses what is not one version: ranges, and names that move.
func checkVersion(version string) error {
	if !pinned().MatchString(version) || wildcard().MatchString(version) || len(version) > 255 {
		return fmt.Errorf("its version %s is not one version, so it cannot be pinned", quoted(version))
	}
	return nil
}

// checkURL refuses an address of a server that is not encrypted, or has a name and password.
func checkURL(address string) error {
	at, err := url.Parse(address)
	switch {
	case err != nil || at.Host == "":
		return fmt.Errorf("its address %s is not valid", quoted(address))
	case at.Scheme != "https":
		return fmt.Errorf("its address %s is not https", quoted(address))
	case at.User != nil:
		return fmt.Errorf("its address has a name and password")
	}
	return nil
}

// quoted returns a text of the registry as errors have it.
func quoted(text string) string {
	if text = Shown(text); len(text) > 100 {
		text = text[:100] + "…"
	}
	return fmt.Sprintf("%q", text)
}
