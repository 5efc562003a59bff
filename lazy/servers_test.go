package lazy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/rank/ranktest"
	"github.com/toolfold/toolfold/internal/text/words"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// few are servers of different subjects that one user may well have at once.
var few = strings.Fields("github notion playwright filesystem memory slack stripe mongodb kubernetes google-maps trello")

// serverRequest asks for tools of a server.
type serverRequest struct {
	server, kind, text string
	right              []string // IDs of tools
}

// toolID is the id of a tool of a server.
func toolID(server, tool string) string { return server + "/" + tool }

func readServerRequests(t testing.TB, half string) (list []serverRequest) {
	t.Helper()
	text, err := os.ReadFile("testdata/upstream/requests-" + half + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		labels, right, ok := strings.Cut(line, " => ")
		parts := strings.SplitN(labels, " | ", 3)
		if !ok || len(parts) != 3 {
			t.Fatalf("requests-%s.txt:%d is not SERVER | KIND | REQUEST => TOOLS", half, i+1)
		}
		r := serverRequest{server: parts[0], kind: parts[1], text: parts[2]}
		for _, tool := range strings.Split(right, ", ") {
			r.right = append(r.right, toolID(r.server, tool))
		}
		list = append(list, r)
	}
	return list
}

// readServers returns the definitions of the tools of each server.
func readServers(t testing.TB) map[string][]json.RawMessage {
	t.Helper()
	files, err := filepath.Glob("testdata/upstream/tools/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no lists of tools: %v", err)
	}
	servers := map[string][]json.RawMessage{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
			servers[name] = append(servers[name], line)
		}
	}
	return servers
}

// toolList is the session of a server that has a list of tools.
type toolList []json.RawMessage

func (l toolList) List(context.Context) (upstream.Answer, error) {
	return upstream.Answer{Tools: l}, nil
}
func (toolList) Call(context.Context, upstream.Call) (json.RawMessage, error) {
	return json.RawMessage(`{"content":[]}`), nil
}
func (toolList) Watch(context.Context, string, bool) error { return nil }
func (toolList) Gone() <-chan struct{}                     { return nil }
func (toolList) Close()                                    {}

// search returns the ids of what a request finds, best first.
type search func(request string, limit int) []string

// throughGateway puts servers into a surface as the gateway folds them, beside our families, and returns
// the search with find and that with FTS5 over the same texts.
func throughGateway(t testing.TB, s *surface.Surface, servers map[string][]json.RawMessage, names []string) (find, fts search) {
	t.Helper()
	ours := s.Families()
	o := gateway.Options{Ours: ours, Connect: func(_ context.Context, u gateway.Upstream, _ upstream.Client) (gateway.Session, error) {
		return toolList(servers[u.Name]), nil
	}}
	for _, name := range names {
		o.Upstreams = append(o.Upstreams, gateway.Upstream{Name: name})
	}
	g, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(g.Families()...); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{} // of tools, by the full names of their actions
	var documents []ranktest.Document
	for _, name := range names {
		plan, _ := g.Plan(name)
		for _, f := range plan.Families {
			for _, a := range f.Actions {
				ids[f.Name+"."+a.Name] = toolID(name, a.Tool)
			}
		}
		for _, raw := range servers[name] {
			documents = append(documents, definitionText(t, name, raw))
		}
	}
	for _, f := range ours {
		for _, a := range f.Actions {
			texts := []string{a.FullName(), a.Summary, a.Words, a.Doc, f.Summary, f.Words}
			for _, p := range a.Params() {
				texts = append(texts, p.Name, p.Doc)
			}
			documents = append(documents, ranktest.Document{ID: a.FullName(), Text: strings.Join(texts, "\n")})
		}
	}
	view := s.Discovery.View(t.Context())
	find = func(request string, limit int) (found []string) {
		for _, f := range view.Find(request, limit) {
			name := s.Runner.Lookup(f.Name)[0].Action.FullName()
			if id, theirs := ids[name]; theirs {
				name = id
			}
			found = append(found, name)
		}
		return found
	}
	return find, ranktest.FTS5(t, documents)
}

// definitionText returns what a plain index knows of a tool: its name, its description, and its parameters.
func definitionText(t testing.TB, server string, raw json.RawMessage) ranktest.Document {
	t.Helper()
	var d struct {
		Name, Description string
		InputSchema       struct {
			Properties map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	texts := []string{d.Description}
	for name, p := range d.InputSchema.Properties {
		texts = append(texts, name, p.Description)
	}
	texts = append(texts, wordsOf(d.Name)...)
	return ranktest.Document{ID: toolID(server, d.Name), Text: strings.Join(texts, "\n")}
}

// wordsOf returns the words of a text that say something, and those that names are made of.
func wordsOf(text string) (list []string) {
	for w := range words.Split(text) {
		for _, p := range append(w.Parts, w.Text) {
			if !words.IsStop(p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// shares are those of requests for which a right tool comes first, and among the first three.
type shares struct{ first, three float64 }

func (s shares) String() string { return fmt.Sprintf("%.3f %.3f", s.first, s.three) }

// measure returns the shares of requests, and those for which no right tool comes first.
func measure(requests []serverRequest, word func(serverRequest) string, find func(server string) search) (s shares, missed []string) {
	for _, r := range requests {
		found := find(r.server)(word(r), 10)
		place := slices.IndexFunc(found, func(id string) bool { return slices.Contains(r.right, id) })
		if place == 0 {
			s.first++
		} else {
			missed = append(missed, fmt.Sprintf("%s: %q wants %v, got %v", r.server, word(r), r.right, found[:min(3, len(found))]))
		}
		if place >= 0 && place < 3 {
			s.three++
		}
	}
	n := float64(len(requests))
	return shares{s.first / n, s.three / n}, missed
}

// Requests lead to the tools of other servers, folded as the gateway folds them. The floors are a little below what
// was measured; FTS5 over the same texts is logged beside. Of the held half, which who tunes does not read, only sums
// are printed.
func TestFindLeadsToToolsOfServers(t *testing.T) {
	t.Parallel()
	servers := readServers(t)
	all := slices.Sorted(maps.Keys(servers))
	type offer struct{ find, fts search }
	alone := map[string]offer{}
	for _, name := range all {
		s := surface.New(surface.Options{})
		if err := s.Put(lazy.Mount(s.Discovery)); err != nil {
			t.Fatal(err)
		}
		find, fts := throughGateway(t, s, servers, []string{name})
		alone[name] = offer{find, fts}
	}
	var together, eleven offer
	together.find, together.fts = throughGateway(t, workbench.New(t, surface.Options{}).Surface, servers, all)
	s := surface.New(surface.Options{})
	if err := s.Put(lazy.Mount(s.Discovery)); err != nil {
		t.Fatal(err)
	}
	eleven.find, eleven.fts = throughGateway(t, s, servers, few)
	asIs := func(r serverRequest) string { return r.text }
	for _, setting := range []struct {
		name   string
		offer  func(server string) offer
		only   []string // servers that are asked; nil = all
		word   func(serverRequest) string
		floors map[string]shares // by half and kind
	}{
		{
			name:  "one server",
			offer: func(server string) offer { return alone[server] }, word: asIs,
			floors: map[string]shares{
				"tune plain": {0.80, 0.92}, "tune other": {0.40, 0.60},
				"held plain": {0.76, 0.93}, "held other": {0.36, 0.56},
			},
		},
		{
			name:  "eleven servers",
			offer: func(string) offer { return eleven }, only: few, word: asIs,
			floors: map[string]shares{
				"tune plain": {0.72, 0.89}, "tune other": {0.16, 0.28},
				"held plain": {0.69, 0.91}, "held other": {0.17, 0.33},
			},
		},
		{
			name:  "all servers and the workbench",
			offer: func(string) offer { return together }, word: asIs,
			floors: map[string]shares{
				"tune plain": {0.61, 0.77}, "tune other": {0.10, 0.21},
				"held plain": {0.59, 0.85}, "held other": {0.13, 0.25},
			},
		},
		{
			name:  "all servers and the workbench, the server named",
			offer: func(string) offer { return together },
			word: func(r serverRequest) string {
				if strings.Contains(r.text, r.server) {
					return r.text
				}
				return r.server + ": " + r.text
			},
			floors: map[string]shares{
				"tune plain": {0.77, 0.92}, "tune other": {0.37, 0.53},
				"held plain": {0.74, 0.89}, "held other": {0.35, 0.54},
			},
		},
	} {
		for _, half := range []string{"tune", "held"} {
			for _, kind := range []string{"plain", "other"} {
				requests := slices.DeleteFunc(readServerRequests(t, half), func(r serverRequest) bool {
					return r.kind != kind || setting.only != nil && !slices.Contains(setting.only, r.server)
				})
				ours, missed := measure(requests, setting.word, func(server string) search { return setting.offer(server).find })
				fts, _ := measure(requests, setting.word, func(server string) search { return setting.offer(server).fts })
				t.Logf("%-48s %s %s %3d requests: first, among three %v; FTS5 %v", setting.name, half, kind, len(requests), ours, fts)
				if half == "tune" && testing.Verbose() {
					t.Logf("not first:\n%s", strings.Join(missed, "\n"))
				}
				if floor := setting.floors[half+" "+kind]; ours.first < floor.first || ours.three < floor.three {
					t.Errorf("%s, %s %s: first, among three %v, want %v", setting.name, half, kind, ours, floor)
				}
			}
		}
	}
}

// Every request asks for tools that its server has, and its kind is true: it is plain if it has a word of the name
// of a right tool, beside the words that all names of the server have.
func TestServerRequestsAreLabelled(t *testing.T) {
	t.Parallel()
	names := map[string]map[string][]string{} // by server and id: stems of the tool's name that not all have
	for server, tools := range readServers(t) {
		names[server] = map[string][]string{}
		counts := map[string]int{}
		for _, raw := range tools {
			var d struct{ Name string }
			if err := json.Unmarshal(raw, &d); err != nil {
				t.Fatal(err)
			}
			list := stemsOf(d.Name)
			names[server][toolID(server, d.Name)] = list
			for _, s := range list {
				counts[s]++
			}
		}
		for id, list := range names[server] {
			names[server][id] = slices.DeleteFunc(list, func(s string) bool { return len(tools) > 2 && counts[s] == len(tools) })
		}
	}
	seen, kinds := map[string]bool{}, map[string]int{}
	for _, half := range []string{"tune", "held"} {
		for i, r := range readServerRequests(t, half) {
			at := fmt.Sprintf("request %d of the %s half", i+1, half)
			if key := toolID(r.server, r.text); seen[key] {
				t.Errorf("%s is there twice", at)
			} else {
				seen[key] = true
			}
			kinds[r.kind]++
			kind := "other"
			for _, id := range r.right {
				name, known := names[r.server][id]
				if !known {
					t.Errorf("%s wants %s, which is no tool", at, id)
				}
				for _, s := range stemsOf(r.text) {
					if slices.Contains(name, s) {
						kind = "plain"
					}
				}
			}
			if r.kind != kind {
				t.Errorf("%s is %s, not %s", at, kind, r.kind)
			}
		}
	}
	if kinds["plain"]+kinds["other"] < 800 || kinds["other"] < 500 {
		t.Errorf("requests are missing: %v", kinds)
	}
}

// stemsOf returns the stems of the words of a text, each once.
func stemsOf(text string) (list []string) {
	for _, w := range wordsOf(text) {
		if s := words.Stem(w); !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
