// Package served tests the families in a running server: over HTTP, with a worker, and with stores
// that outlive both.
package served
