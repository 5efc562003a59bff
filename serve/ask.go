package serve

import (
	"context"
	"encoding/json"

	"github.com/toolfold/toolfold/internal/carried"
	"github.com/toolfold/toolfold/internal/client"
	"github.com/toolfold/toolfold/internal/sampling"
)

// withClient returns a context in which a call may ask its client what that offers.
func (r *request) withClient(ctx context.Context, asked client.Client) context.Context {
	ctx = carried.With(ctx, asked)
	if offers := r.sampling(); offers != nil {
		ctx = carried.With[sampling.Sampler](ctx, lent{asked, offers})
	}
	return ctx
}

// asking sends requests to the client in the course of its call, as protocols up to
// 2025-11-25 have it.
type asking struct {
	server  *Server
	request *request
}

// Offers implements [client.Client].
func (a asking) Offers(method string) bool { return a.request.Offers(method) }

// Ask implements [client.Client].
func (a asking) Ask(ctx context.Context, q client.Question) (json.RawMessage, error) {
	ctx, done, err := a.server.parking.prompts.wait(ctx, a.request.clientKey())
	if err != nil {
		return nil, err
	}
	defer done()
	defer pause(ctx)()
	return a.request.questions.ask(ctx, a.request, q)
}
