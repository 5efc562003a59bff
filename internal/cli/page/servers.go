package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
)

func (p *Page) state(*http.Request) (any, error) { return p.machine.read() }

// serverView is the data of one server's page.
type serverView struct {
	server
	Changes []change
	Log     []string
	Effect  string // of the restart that was asked for; may be empty
	Find    string // what the user looks for among the tools; empty = nothing
	Tree    []branch
	Login   *serverLogin // begun by the user; nil = none
	Process string       // where it runs; empty if it is switched off
	Never   *uncalled    // nil = all its tools have recorded calls, or no call of any tool is recorded
	Local   bool         // the browser runs on this machine, so that it can log in
}

// change is a held tool beside its accepted definition.
type change struct {
	Name     string // empty for the title and instructions of the server
	New      bool
	Rejected bool
	Flags    []string
	Lines    []pair
	Digest   string // of what is shown; approving and rejecting name it
}

// pair is one line of the accepted definition beside one of the new definition. Lines that only one of
// them has stand alone or beside the line that replaced them.
type pair struct {
	Was, Now string
	Same     bool
	Gap      bool // lines are left out here
}

func (p *Page) server(r *http.Request) (any, error) {
	s, err := p.find(r)
	if err != nil {
		return nil, err
	}
	v := serverView{server: s, Login: p.logins.of(s.Name), Local: p.access != nil, Find: strings.TrimSpace(r.URL.Query().Get("find"))}
	v.Tree = branches(s.Families, v.Find)
	for _, h := range s.HeldTools {
		v.Changes = append(v.Changes, change{
			Name: h.Name, New: h.Was == nil, Rejected: h.Rejected, Flags: h.Flags, Lines: pairs(servers.Difference(h.Was, h.Now)),
			Digest: gateway.DigestOf([]gateway.HeldTool{h}),
		})
	}
	var options *settings.Options
	if err = p.machine.use(func(_ *state, o *settings.Options, g *gateway.Gateway) (err error) {
		options = o
		v.Log, err = g.Journal(s.Name, journalLines)
		return err
	}); err != nil {
		return nil, err
	}
	if s.State != stateOff {
		if v.Process, err = p.process(r.Context(), options, s.Name); err != nil {
			v.Process = "unknown: " + err.Error()
		}
	}
	v.Never, err = p.neverOf(r.Context(), s)
	return v, err
}

const journalLines = 50

// find returns the server that a request names.
func (p *Page) find(r *http.Request) (server, error) {
	s, err := p.machine.read()
	if err != nil {
		return server{}, err
	}
	for _, one := range s.Servers {
		if one.Name == r.PathValue("name") {
			return one, nil
		}
	}
	return server{}, errNotFound
}

// pairs puts the lines of a difference side by side.
func pairs(difference string) (lines []pair) {
	var was, now []string
	flush := func() {
		for i := range max(len(was), len(now)) {
			var line pair
			if i < len(was) {
				line.Was = was[i]
			}
			if i < len(now) {
				line.Now = now[i]
			}
			lines = append(lines, line)
		}
		was, now = nil, nil
	}
	for line := range strings.Lines(difference) {
		text := strings.TrimSuffix(line[1:], "\n")
		switch line[0] {
		case '-':
			was = append(was, text)
		case '+':
			now = append(now, text)
		case '@':
			flush()
			lines = append(lines, pair{Gap: true})
		default:
			flush()
			lines = append(lines, pair{Was: text, Now: text, Same: true})
		}
	}
	flush()
	return lines
}

// present returns the present settings. Commands that change them may wait for others.
func (m *machine) present() (options *settings.Options, err error) {
	err = m.use(func(_ *state, o *settings.Options, _ *gateway.Gateway) error {
		options = o
		return nil
	})
	return options, err
}

// restartServer ends the shared processes of a server, and shows the server with what that did.
func (p *Page) restartServer(w http.ResponseWriter, r *http.Request) {
	s, err := p.find(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	options, err := p.machine.present()
	if err != nil {
		p.fail(w, r, err)
		return
	}
	effect := ""
	err = p.byUser(r, "upstream.restart", func(ctx context.Context) (err error) {
		effect, err = p.restart(ctx, options, s.Name)
		return err
	})
	if err != nil {
		p.fail(w, r, conflict{err})
		return
	}
	data, err := p.server(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	v := data.(serverView)
	v.Effect = effect
	p.write(w, r, http.StatusOK, "server", v)
}

// toServer leads to the page of the server in the path.
func toServer(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/servers/"+url.PathEscape(r.PathValue("name")), http.StatusSeeOther)
}

// switchServer switches a server on or off.
func (p *Page) switchServer(r *http.Request) error {
	s, err := p.find(r)
	if err != nil {
		return err
	}
	options, err := p.machine.present()
	if err != nil {
		return err
	}
	name, on := "upstream.disable", r.PostFormValue("to") == "on"
	if on {
		name = "upstream.enable"
	}
	return p.byUser(r, name, func(ctx context.Context) error {
		return servers.Switch(ctx, options, s.Name, on) // it may wait for another command
	})
}

// decide returns the handler that approves or rejects one held tool, if its definition is still the one that was shown.
func (p *Page) decide(name, done string, take func(*gateway.Gateway, string, ...gateway.HeldTool) ([]string, error)) http.HandlerFunc {
	return p.change(func(r *http.Request) error {
		s, err := p.find(r)
		if err != nil {
			return err
		}
		return p.machine.use(func(_ *state, _ *settings.Options, g *gateway.Gateway) error {
			held, err := g.HeldTools(s.Name)
			if err != nil {
				return err
			}
			for _, h := range held {
				shown := []gateway.HeldTool{h}
				if h.Name == r.PostFormValue("tool") && gateway.DigestOf(shown) == r.PostFormValue("digest") {
					return p.byUser(r, "upstream."+name, func(context.Context) error {
						_, err := take(g, s.Name, shown...)
						return err
					})
				}
			}
			return conflict{fmt.Errorf("nothing is %s: %s has changed since, or is not held back any more; look at %s again",
				done, cmp.Or(r.PostFormValue("tool"), "the text of the server"), s.Name)}
		})
	})
}

// heldNames lists the names of held tools.
func heldNames(held []gateway.HeldTool) string {
	var names []string
	for _, h := range held {
		names = append(names, cmp.Or(h.Name, "title and instructions"))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// original returns the name of a folded action's tool at its server.
func original(a *toolfold.Action) string {
	if len(a.Aliases) == 0 {
		return ""
	}
	return strings.TrimPrefix(a.Aliases[0], a.Family.Server+".")
}
