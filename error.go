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
	Internal      = "INTERNAL_ERROR" // a fault of the server; the log has the id in Message
	Cancelled     = "CANCELLED"      // the caller gave up, or its time was over
	LimitReached  = "LIMIT_REACHED"  // there are as many of something as there may be
	ClientLacks   = "CLIENT_LACKS"   // the client declares no capability that the call needs

	TimedOut         = "TIMEOUT"           // it took longer than it may
	UpstreamError    = "UPSTREAM_ERROR"    // a tool of another server failed, or the server offers none now
	PermissionDenied = "PERMISSION_DENIED" // the caller may not run the action
)

// Error is the answer to a failed call. Everything in it reaches the model, so
// it holds no path, query or stack.
type Error struct {
	Code     string          `json:"code"`
	Message  string          `json:"message"`
	Hint     string          `json:"hint,omitempty"` // the next step
	Problems []Problem       `json:"problems,omitempty"`
	Usage    string          `json:"usage,omitempty"`
	Example  json.RawMessage `json:"example,omitempty"`

	// Data is the data of the error with which another server refused the call, as JSON. Nil for all other
	// errors.
	Data json.RawMessage `json:"data,omitempty"`

	// Lacking is the capability that the client would have to declare, such as sampling, or extensions/NAME.
	// Empty for all other errors. Clients of 2026-07-28 get a protocol error for it.
	Lacking string `json:"-"`

	// Protocol is the code with which another server refused the request; 0 for all other errors.
	Protocol int64 `json:"-"`
}

// Error implements error.
func (e *Error) Error() string {
	return e.Code + ": " + e.Message
}

// Errorf returns an error with a code for the model and a text for both.
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

// About adds a problem of a kind for each argument that the message is about.
func (e *Error) About(kind string, names ...string) *Error {
	for _, name := range names {
		e.Problems = append(e.Problems, Problem{Path: "/" + name, Kind: kind})
	}
	return e
}

// The kinds of problem.
const (
	ProblemMissing = "missing" // required, absent
	ProblemUnknown = "unknown" // no action of the tool has it; Suggest, if one is near
	ProblemStray   = "stray"   // other actions have it, see BelongsTo; Suggest, if one of this action stands for it
	ProblemType    = "type"    // Want, Got
	ProblemEnum    = "enum"    // Allowed, Suggest
	ProblemRange   = "range"   // Min, Max; Want if a bound is exclusive
	ProblemLength  = "length"  // Min, Max and Got in characters, items or bytes
	ProblemFormat  = "format"  // Want
	ProblemPattern = "pattern" // Want, a regular expression
	ProblemRefused = "refused" // by the action, whose message says why, or by the tool's schema, which allows no value
	ProblemTwice   = "twice"   // in params and beside it, with different values
)

// Problem is one thing wrong with the arguments.
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
