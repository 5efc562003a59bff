package page

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
)

// neverView is the data of the view of tools without a recorded call.
type neverView struct {
	Of     string    // server whose tools are shown; empty = all, and toolfold's own
	First  time.Time // of the recorded calls; zero = no call is recorded
	Groups []uncalled
}

// uncalled has the tools of a server without a recorded call. An empty Server is toolfold itself.
type uncalled struct {
	Server   string
	All      int // its tools
	Families []branch
	Never    int // tools in Families
}

// uncalledOf returns the tools of families that have no recorded call. last has the last call by full name.
func uncalledOf(server string, families []*toolfold.Family, last map[string]time.Time) uncalled {
	u := uncalled{Server: server}
	for _, f := range families {
		b := branch{Family: f}
		for _, a := range f.Actions {
			if _, called := last[a.FullName()]; !called {
				b.Matching = append(b.Matching, a)
			}
		}
		u.All += len(f.Actions)
		if u.Never += len(b.Matching); len(b.Matching) > 0 {
			u.Families = append(u.Families, b)
		}
	}
	return u
}

// never shows the tools without a recorded call: of toolfold and of the servers that are on.
func (p *Page) never(r *http.Request) (any, error) {
	v := neverView{Of: strings.TrimSpace(r.URL.Query().Get("of"))}
	if !p.stored() {
		return v, nil
	}
	s, err := p.machine.read()
	if err != nil {
		return nil, err
	}
	last, err := p.called(r.Context())
	if err != nil {
		return nil, err
	}
	if v.First = last.First; v.First.IsZero() {
		return v, nil
	}
	for _, one := range s.Servers {
		if v.Of == "" || v.Of == one.Name {
			v.Groups = append(v.Groups, uncalledOf(one.Name, one.Families, last.Last))
		}
	}
	if v.Of == "" {
		tools, err := p.tools()
		if err != nil {
			return nil, err
		}
		v.Groups = append(v.Groups, uncalledOf("", tools.Own(), last.Last))
	}
	return v, nil
}

// neverOf returns the tools of a server without a recorded call; nil if no call is recorded, or all tools have one.
func (p *Page) neverOf(ctx context.Context, s server) (*uncalled, error) {
	if !p.stored() {
		return nil, nil
	}
	last, err := p.called(ctx)
	if err != nil || last.First.IsZero() {
		return nil, err
	}
	if u := uncalledOf(s.Name, s.Families, last.Last); u.Never > 0 {
		return &u, nil
	}
	return nil, nil
}
