// Package call is the life of a call, from a name and the bytes of its
// arguments to the bytes of its answer:
//
//	resolve → decode → middleware → normalise → validate → run → project
//
// A [Resolver] knows the names; a [Runner] runs calls. What concerns every call
// alike (permissions, spans, counts) is [Middleware]. It stands before validation:
// counts and spans see the calls that fail it, and a refusal reveals nothing.
//
// It is not a stable API: see docs/stability.md.
package call
