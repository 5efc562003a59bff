package serve

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold"
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

// Root is a folder or file that a client works in.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name"` // may be empty
}

// Roots asks the client of the call that ctx belongs to for what it works in. One that
// does not say is a [*toolfold.Error] with the code CLIENT_LACKS; other errors may reach
// the caller too.
func Roots(ctx context.Context) ([]Root, error) {
	asked := carried.Of[client.Client](ctx)
	if asked == nil || !asked.Offers(client.Roots) {
		lacking := toolfold.Errorf(toolfold.ClientLacks, "the connected client does not say what it works in: it does not declare roots")
		lacking.Lacking = "roots"
		return nil, lacking
	}
	raw, err := asked.Ask(ctx, client.Question{Key: "roots", Method: client.Roots})
	if err != nil {
		return nil, err
	}
	var said struct{ Roots []Root }
	if err := json.Unmarshal(raw, &said); err != nil {
		return nil, fmt.Errorf("reading the client's roots: %w", err)
	}
	return said.Roots, nil
}
