package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/internal/system/child"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// reason words an error for the user, without secrets. output is the end of the program's standard
// error; the line that explains the error is quoted.
func (s Server) reason(err error, output string) error {
	var exit *child.ExitError
	var unstarted *child.StartError
	var refused *jsonrpc.Error
	var unsent *url.Error
	text := err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		text = "no answer in time"
	case errors.As(err, &unstarted):
		text = fmt.Sprintf("it does not start: %s (%s)", text, filepath.Base(s.Argv[0]))
	case errors.As(err, &exit):
		text = "it ended: " + text
	case errors.As(err, &refused) && refused.Code == codeLost:
		text = refused.Message
	case errors.As(err, &unsent):
		text = unsent.Err.Error()
	case errors.Is(err, mcp.ErrConnectionClosed), errors.Is(err, io.EOF):
		text = "it ended without an answer"
	}
	if line := explanation(output); line != "" {
		text += "; it printed: " + line
	}
	if at, err := url.Parse(s.URL); err == nil && s.URL != "" {
		text = strings.ReplaceAll(text, s.URL, at.Scheme+"://"+at.Host)
	}
	text = s.mask(text, s.secrets())
	if runes := []rune(text); len(runes) > maxWhy {
		text = string(runes[:maxWhy]) + "…"
	}
	switch {
	case errors.Is(err, ErrLogin):
		return &loginError{text}
	case errors.Is(err, ErrExchange):
		return &exchangeError{text}
	}
	if refused != nil && refused.Code == codeLost {
		status, _ := strconv.Atoi(string(refused.Data)) // as the gate wrote it
		return &noMessage{text, status}
	}
	return errors.New(text)
}

// Patterns for lines of a program's output: those that explain its failure, and those that do not.
var (
	failure   = regex.Lazy(`(?i)(^|[\s\]>:.])\w*(error|exception|panic|fatal)( \[[^\]]*\])?:\s+\S`)
	complaint = regex.Lazy(`(?i)\b(errors?|failed|failure|not found|no such|cannot|can't|could not|unable|denied|refused|required|` +
		`missing|invalid|unknown|unrecognized|unsupported|not (installed|running|set|defined|recognized|in this registry))\b`)
	noise = regex.Lazy(`^(Node\.js v|at |\^+$|throw |npm (error|ERR!) (A complete log|code |errno |\d+$)|goroutine \d|` +
		`Traceback |File "|exit status|Run '|For more help|Usage: |usage: |\[?notice\]?|code: '|requireStack|[\[\]{}(),]*$)`)
)

// explanation returns the line of an output that explains why the program failed: the first that names
// an error, else the first that complains, else the last that is not noise.
func explanation(output string) string {
	lines := strings.FieldsFunc(output, func(r rune) bool { return r == '\n' || r == '\r' })
	var parts []string
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" && !noise().MatchString(line) {
			parts = append(parts, line)
		}
	}
	for _, kind := range []*regexp.Regexp{failure(), complaint()} {
		if i := slices.IndexFunc(parts, kind.MatchString); i >= 0 {
			return parts[i]
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return parts[len(parts)-1]
}

// secrets lists the values to remove from errors, the longest first: values of the environment, of
// headers and of the URL's query, arguments that look like secrets, and [Server.Hidden].
func (s Server) secrets() []string {
	secrets := slices.Clone(s.Hidden)
	if at, err := url.Parse(s.URL); err == nil && s.URL != "" {
		secrets = append(secrets, at.RequestURI(), at.RawQuery)
		for _, values := range at.Query() {
			secrets = append(secrets, values...)
		}
	}
	for _, variable := range s.Env {
		if name, value, _ := strings.Cut(variable, "="); !public(name, value) {
			secrets = append(secrets, value)
		}
	}
	for _, values := range s.Header {
		for _, value := range values {
			secrets = append(append(secrets, value), strings.Fields(value)...)
		}
	}
	for i, argument := range s.Argv {
		name, value, assigned := strings.Cut(argument, "=")
		switch {
		case i == 0:
		case assigned && redact.Names(name):
			secrets = append(secrets, value)
		case strings.HasPrefix(s.Argv[i-1], "-") && !strings.Contains(s.Argv[i-1], "=") && redact.Names(s.Argv[i-1]):
			secrets = append(secrets, argument)
		}
	}
	const shortest = 6 // characters; shorter values are words such as true
	secrets = slices.DeleteFunc(secrets, func(secret string) bool { return len(secret) < shortest })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

var publicName = regex.Lazy(`^(LANG|LANGUAGE|LC_.*|TERM|TZ|USER|LOGNAME|USERNAME|NUMBER_OF_PROCESSORS|PROCESSOR_ARCHITECTURE)$`)

// public reports whether the value of a variable only describes the user's system and is not a secret.
func public(name, value string) bool {
	if publicName().MatchString(name) {
		return true
	}
	_, err := os.Stat(value)
	return filepath.IsAbs(value) && err == nil
}

// noMessage is the error of an HTTP server that answers with a status and no message.
type noMessage struct {
	why    string
	status int
}

// Error implements error.
func (n *noMessage) Error() string { return n.why }

// loginError is the error of a server that requires a login, in the user's words.
type loginError struct{ why string }

// Error implements error.
func (l *loginError) Error() string { return l.why }

// Unwrap returns [ErrLogin].
func (l *loginError) Unwrap() error { return ErrLogin }
