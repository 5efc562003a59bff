package call_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// library is opened by a call of shelf.list; its action calls shelf.list too.
type library struct{ opened int }

type shelf struct {
	Books string `json:"books" doc:"All titles."`
}

type count struct {
	Opened int `json:"opened" doc:"Bytes that were there at first."`
	Now    int `json:"now" doc:"Bytes that are there."`
}

func list(shelf, context.Context, struct{}) (shelf, error) {
	return shelf{strings.Repeat("x", 50_000)}, nil
}

func openLibrary(ctx context.Context) (library, error) {
	there, err := toolfold.Do[shelf](ctx, nil, "shelf.list", struct{}{})
	return library{len(there.Books)}, err
}

func (l library) count(ctx context.Context, _ struct{}) (count, error) {
	there, err := toolfold.Do[shelf](ctx, nil, "shelf.list", struct{}{})
	return count{l.opened, len(there.Books)}, err
}

// An action, and the func that opens its service, can call others with a nil Caller. The answers
// are complete, independent of the client's limits, and the rights are the call's.
func TestDoInCall(t *testing.T) {
	t.Parallel()
	shelves := toolfoldtest.Mount(t, toolfold.Family{
		Name: "shelf", Summary: "A shelf", Actions: []*toolfold.Action{{
			Name: "list", Summary: "List the books.", Effect: toolfold.Reads, Example: `{}`, Run: toolfold.Method(list),
		}},
	}, shelf{})
	libraries, err := toolfold.Mount(toolfold.Family{
		Name: "library", Summary: "A library", Actions: []*toolfold.Action{{
			Name: "count", Summary: "Count the books.", Effect: toolfold.Reads, Example: `{}`, Run: toolfold.Method(library.count),
		}},
	}, openLibrary)
	if err != nil {
		t.Fatal(err)
	}
	runner := toolfoldtest.Runner(shelves, libraries)
	client := runner.Bounded(call.Bound{Bytes: 4000}).WithListing(func(_ context.Context, name string) bool { return name == "library" })
	got := client.Call(t.Context(), "library", json.RawMessage(`{"action":"count"}`))
	if want := `{"opened":50000,"now":50000}`; string(got.Content) != want {
		t.Errorf("count answers %s, want %s", got.Content, want)
	}

	limited := toolfoldtest.RunnerWith([]*toolfold.Family{shelves, libraries}, call.Permissions)
	rights := &toolfold.Rights{Allows: func(a *toolfold.Action) bool { return a.Name == "count" }}
	got = limited.Call(callctx.With(t.Context(), toolfold.Origin{Rights: rights}), "library.count", nil)
	if got.Err == nil || got.Err.Code != toolfold.PermissionDenied {
		t.Errorf("with rights to count alone: %s", got.Content)
	}

	_, err = toolfold.Do[shelf](t.Context(), nil, "shelf.list", struct{}{})
	if err == nil || !strings.Contains(err.Error(), "not of a call") {
		t.Errorf("outside a call: %v", err)
	}
}
