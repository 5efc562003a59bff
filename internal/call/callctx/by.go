package callctx

// By is the caller of a call that became a task, for the audit of the calls that the task makes. The zero By is no
// caller.
type By struct {
	Caller string `json:"caller,omitempty"` // name of the token; empty if it has no name
	Token  string `json:"token,omitempty"`  // beginning of the token's SHA-256, in hexadecimal digits
	Client string `json:"client,omitempty"` // as the client calls itself

	// Call is the audit's entry of the call that may become a task, in JSON; empty for other calls. The end of the
	// task completes it.
	Call string `json:"call,omitempty"`

	// Recorded reports whether the call of ctx is the kept one, which was recorded when it was kept.
	Recorded bool `json:"-"`
}
