package callctx

// By is who made a call that is kept as a task, for the audit of the calls that the task makes.
type By struct {
	Caller string `json:"caller,omitempty"` // name of the token; empty if it has no name
	Token  string `json:"token,omitempty"`  // beginning of the token's SHA-256, in hexadecimal digits
	Client string `json:"client,omitempty"` // as the client calls itself

	// Recorded reports whether the call of ctx is the kept one, which was recorded when it was kept.
	Recorded bool `json:"-"`
}
