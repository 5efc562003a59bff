package toolfold

import (
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Codes that any action may answer with. Families add codes of their own, such as SESSION_NOT_FOUND.
const (
	InvalidInput  = "INVALID_INPUT"  // the arguments; see Problems
	InvalidAction = "INVALID_ACTION" // the action argument is missing or unknown
	UnknownTool   = "UNKNOWN_TOOL"   // no tool of that name
	Internal      = "INTERNAL_ERROR" // a fault of the server; Message has the id of the log entry
	Cancelled     = "CANCELLED"      // the caller cancelled the call, or its time was over
	LimitReached  = "LIMIT_REACHED"  // a limit is reached
	ClientLacks   = "CLIENT_LACKS"   // the client does not declare a capability that the call needs

	TimedOut         = "TIMEOUT"           // the call took longer than allowed
	UpstreamError    = "UPSTREAM_ERROR"    // a tool of another server failed, or the server has no tools now
	LoginRequired    = "LOGIN_REQUIRED"    // the caller has to log in at another server first; Message has the link
	PermissionDenied = "PERMISSION_DENIED" // the caller may not run the action
)

// Error is the answer to a failed call. The model reads all of it, so it must not have paths,
// queries or stacks.
type Error struct {
	Code     string          `json:"code"`
	Message  string          `json:"message"`
	Hint     string          `json:"hint,omitempty"` // the next step
	Problems []Problem       `json:"problems,omitempty"`
	Usage    string          `json:"usage,omitempty"`
	Example  json.RawMessage `json:"example,omitempty"`

	// Data is the data of another server's error, as JSON. Nil for all other errors.
	Data json.RawMessage `json:"data,omitempty"`

	// Lacking is the capability that the client would have to declare, such as sampling, or extensions/NAME.
	// Empty for all other errors. Clients of 2026-07-28 get a protocol error for it.
	Lacking string `json:"-"`

	// Protocol is the code of another server's error; 0 for all other errors.
	Protocol int64 `json:"-"`

	// Uncertain reports that the call may have been done all the same, for example because the connection was
	// lost before the answer.
	Uncertain bool `json:"-"`
}

// Error implements error.
func (e *Error) Error() string {
	return e.Code + ": " + e.Message
}

// Errorf returns an error with a code and a formatted text, without a hint. The model reads both.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Answer returns the answer to a call that failed with e.
func (e *Error) Answer() Answer {
	return Answer{Err: e, Content: ordered.MustJSON(map[string]*Error{"error": e})}
}

// WithHint adds the next step.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// About adds a problem of a kind for each argument named.
func (e *Error) About(kind string, names ...string) *Error {
	for _, name := range names {
		e.Problems = append(e.Problems, Problem{Path: "/" + name, Kind: kind})
	}
	return e
}

// The kinds of problem.
const (
	ProblemMissing = "missing" // required, absent
	ProblemUnknown = "unknown" // no action of the tool has it; Suggest, if a name is near
	ProblemStray   = "stray"   // other actions have it, see BelongsTo; Suggest, if a parameter of this action has its meaning
	ProblemType    = "type"    // Want, Got
	ProblemEnum    = "enum"    // Allowed, Suggest
	ProblemRange   = "range"   // Min, Max; Want if a bound is exclusive
	ProblemLength  = "length"  // Min, Max and Got in characters, items or bytes
	ProblemFormat  = "format"  // Want
	ProblemPattern = "pattern" // Want, a regular expression
	ProblemRefused = "refused" // by the action, which gives the reason in its message, or by the tool's schema, which allows no value
	ProblemTwice   = "twice"   // in params and outside it, with different values
)

// Problem is one error in the arguments.
type Problem struct {
	Path      string   `json:"path"` // JSON pointer into the arguments
	Kind      string   `json:"kind"`
	Want      string   `json:"want,omitempty"`
	Got       any      `json:"got,omitempty"`
	Min       *float64 `json:"min,omitempty"`
	Max       *float64 `json:"max,omitempty"`
	Allowed   []string `json:"allowed,omitempty"`
	Suggest   string   `json:"suggest,omitempty"`
	BelongsTo []string `json:"belongs_to,omitempty"`
}
