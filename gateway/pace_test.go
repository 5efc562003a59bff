package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/upstream"
)

// scripted is a session whose lists and end are functions.
type scripted struct {
	list func(context.Context) (upstream.Answer, error)
	end  func()
	gone chan struct{}
}

func (s scripted) List(ctx context.Context) (upstream.Answer, error) { return s.list(ctx) }

func (s scripted) Call(ctx context.Context, _ upstream.Call) (json.RawMessage, error) {
	return json.RawMessage(`{"content":[]}`), ctx.Err()
}
func (s scripted) Watch(context.Context, string, bool) error { return nil }
func (s scripted) Gone() <-chan struct{}                     { return s.gone }
func (s scripted) Close()                                    { s.end() }

// listOf is a list of so many tools.
func listOf(n int) (upstream.Answer, error) {
	var answer upstream.Answer
	for i := range n {
		answer.Tools = append(answer.Tools, json.RawMessage(fmt.Sprintf(`{"name":"get_%d","inputSchema":{"type":"object"}}`, i)))
	}
	return answer, nil
}

// However long the tools of one server take to be folded, others are learnt and offered, also
// while it goes on.
func TestSlowFoldDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folding, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		g, err := gateway.New(gateway.Options{
			Upstreams: []gateway.Upstream{{Name: "slow"}, {Name: "fast"}},
			Taken: func(name string) bool {
				if len(name) >= 4 && name[:4] == "slow" {
					once.Do(func() { close(folding) })
					<-release
				}
				return false
			},
			Connect: func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error) {
				return scripted{gone: make(chan struct{}), end: func() {}, list: func(context.Context) (upstream.Answer, error) {
					return listOf(30)
				}}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		learnt := make(chan error, 1)
		go func() { learnt <- g.Learn(t.Context()) }()
		<-folding
		synctest.Wait()
		if families := g.Families(); len(families) == 0 {
			t.Error("the tools of the other server are not offered")
		}
		if err := g.Refresh(t.Context(), "fast"); err != nil {
			t.Error(err)
		}
		close(release)
		<-learnt
		g.Close()
	})
}
