// Package served holds tests of the families as a server has them: asked over HTTP, with a
// worker, and on stores that outlive both.
package served
