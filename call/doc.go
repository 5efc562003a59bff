// Package call is the life of a call, from a name and the bytes of its
// arguments to the bytes of its answer:
//
//	resolve → decode → middleware → normalise → validate → run → project
//
// A [Resolver] looks up names; a [Runner] runs calls. Work that applies to every call (permissions,
// spans, counts) is [Middleware]. It runs before validation: counts and spans include invalid
// calls, and a call without permission gets no information about its arguments.
//
// It is not a stable API: see docs/stability.md.
package call
