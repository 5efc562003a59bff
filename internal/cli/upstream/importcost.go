package upstream

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/target"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/upstream"
)

// listCost is the cost of all lists of a client: listed tools, and tokens as the client sends them.
type listCost struct {
	Tools  int
	Tokens int
}

// add adds the cost of a list, as the client sends it.
func (l *listCost) add(cl *client, list doctor.List) error {
	list.Model = cl.model
	n, err := list.TokensIn(cl.host.Name)
	l.Tools += len(list.Tools)
	l.Tokens += n
	return err
}

// plan plans the sets and entries of the clients, and counts their costs before and after. A client
// that would pay more is left alone without --anyway.
func (s *survey) plan(c *cli.Context, o *settings.Options) error {
	s.joinLimited(o)
	now, err := servingNow(o)
	if err != nil {
		return err
	}
	for _, cl := range s.clients {
		if err := s.countBefore(env.Of(c), cl, now); err != nil {
			return err
		}
	}
	for again := true; again; {
		again = false
		if err := s.planSets(c, o); err != nil {
			return err
		}
		then, err := servingThen(o, s)
		if err != nil {
			return err
		}
		for _, cl := range s.clients {
			if err := s.countAfter(env.Of(c), o, cl, then); err != nil {
				return err
			}
			taken := slices.ContainsFunc(s.of(cl), func(t *candidate) bool { return t.name != "" })
			if taken && cl.after.Tokens > cl.before.Tokens && !c.Bool("anyway") {
				cl.leftAlone, cl.wouldPay, again = true, cl.after.Tokens, true
				s.leaveServers(cl, "its client would pay more: --anyway takes it over")
			}
		}
	}
	return nil
}

// servedSettings holds the settings that toolfold's entries serve: the current ones, or those after the
// import.
type servedSettings struct {
	upstreams map[string]config.Upstream
	sets      map[string][]string
	families  []*toolfold.Family // of the upstreams
	unknown   []string           // upstreams that never listed their tools
}

func servingNow(o *settings.Options) (servedSettings, error) {
	return newServedSettings(o, o.Upstreams, o.Sets, nil)
}

func servingThen(o *settings.Options, s *survey) (servedSettings, error) {
	upstreams := maps.Clone(o.Upstreams)
	if upstreams == nil {
		upstreams = map[string]config.Upstream{}
	}
	for _, t := range s.candidates {
		if t.name != "" {
			upstreams[t.name] = t.upstream
		}
	}
	return newServedSettings(o, upstreams, s.plannedSets(o), answersOf(s.candidates))
}

func newServedSettings(o *settings.Options, upstreams map[string]config.Upstream, sets map[string][]string,
	answers map[string]upstream.Answer) (
	s servedSettings, err error,
) {
	planned := *o
	planned.Upstreams = upstreams
	s = servedSettings{upstreams: upstreams, sets: sets}
	s.families, s.unknown, err = servers.PlannedFamilies(&planned, answers)
	return s, err
}

// answersOf returns the lists of the servers that are taken over, by upstream.
func answersOf(found []candidate) map[string]upstream.Answer {
	answers := map[string]upstream.Answer{}
	for _, t := range found {
		if t.name != "" {
			answers[t.name] = t.answer
		}
	}
	return answers
}

// list returns the list that serve offers with these options. unknown names the upstreams in it whose
// tools are not known.
func (s servedSettings) list(e *env.Env, options []string) (list doctor.List, unknown []string, err error) {
	set, others := setOption(options)
	err = settings.AsServe(e, others, func(c *cli.Context) error {
		c.App.ErrWriter = io.Discard // the command itself has already reported faults of the settings
		o, err := settings.Load(c)
		if err != nil {
			return err
		}
		o.Upstreams, o.Sets = s.upstreams, s.sets
		if set != "" {
			o.Set = set
		}
		if _, err := o.Choose(slices.Collect(maps.Keys(s.upstreams))); err != nil {
			return err
		}
		families := o.Rights(true).Filter(slices.Concat(o.Families(), s.families))
		tools := surface.List(families, o.SurfaceOptions())
		instructions := workbench.Instructions(surface.New(o.SurfaceOptions()), o.Kind(), families)
		list = doctor.ListOf(hosts.Server, instructions, tools, len(tools))
		for i, l := range tools {
			list.Tools[i].AlwaysLoad = serve.Loads(o.AlwaysLoad).Holds(l)
		}
		for _, name := range s.unknown {
			if o.Lacks(name) == "" {
				unknown = append(unknown, name)
			}
		}
		return nil
	})
	return list, unknown, err
}

// countBefore counts the current cost of a client.
func (s *survey) countBefore(e *env.Env, cl *client, now servedSettings) error {
	for _, t := range s.inForce(cl) {
		switch {
		case servers.IsOwn(t.entry), t.entry.Off:
			continue
		case t.list.Problem != "":
			cl.uncounted = append(cl.uncounted, t.entry.Name)
		}
		cl.servers++
		if err := cl.before.add(cl, t.list); err != nil {
			return err
		}
	}
	return s.countOwn(e, cl, now, &cl.before)
}

// countOwn counts the client's existing toolfold entries, without the one that import writes.
func (s *survey) countOwn(e *env.Env, cl *client, as servedSettings, cost *listCost) error {
	entries := slices.Clone(cl.own)
	if cl.base != nil {
		for _, own := range cl.base.own {
			if !s.hide(cl, own.Name) && (own.Name != hosts.Server || cl.options == nil) {
				entries = append(entries, own)
			}
		}
		if cl.base.options != nil && cl.options == nil && !cl.has {
			entries = append(entries, hosts.Entry{Name: hosts.Server, Command: slices.Concat([]string{hosts.Server, "serve"}, cl.base.options)})
		}
	}
	for _, own := range entries {
		list, unknown, err := as.list(e, optionsOf(own))
		if len(own.Command) == 0 || err != nil { // it is at a URL, or does not start
			list, unknown = doctor.List{}, []string{own.Name}
		}
		for _, name := range unknown {
			if !slices.Contains(cl.uncounted, name) {
				cl.uncounted = append(cl.uncounted, name)
			}
		}
		if err := cost.add(cl, list); err != nil {
			return err
		}
	}
	return nil
}

// countAfter counts the cost of a client after the import.
func (s *survey) countAfter(e *env.Env, o *settings.Options, cl *client, then servedSettings) error {
	cl.after = listCost{}
	for _, t := range s.inForce(cl) {
		if t.name == "" && !servers.IsOwn(t.entry) && !t.entry.Off {
			if err := cl.after.add(cl, t.list); err != nil {
				return err
			}
		}
	}
	if err := s.countOwn(e, cl, then, &cl.after); err != nil || cl.options == nil {
		return err
	}
	rest := cl.after
	count := func(options []string) (cost listCost, err error) {
		cost = rest
		list, _, err := then.list(e, options) // all servers of its set have answered
		if err != nil {
			return cost, fmt.Errorf("counting the list of toolfold serve %s: %w", strings.Join(options, " "), err)
		}
		return cost, cost.add(cl, list)
	}
	shared, _, err := s.shared(cl, o)
	if err != nil {
		return err
	}
	if shared != nil { // replaces the entry for all folders, and keeps its options
		cl.options = shared
	}
	if cl.after, err = count(cl.options); err != nil || shared != nil || !cl.savesRounds() {
		return err
	}
	options := append(slices.Clone(cl.options), "--for="+cl.host.Name)
	cost, err := count(options)
	if err == nil && (cost.Tokens <= cl.before.Tokens || cl.after.Tokens > cl.before.Tokens) {
		cl.options, cl.after = options, cost
	}
	return err
}

// sends returns how the client was observed to send tools to its model; nil if it was not observed.
func (cl *client) sends() *hosts.Rewrite { return cl.host.For(cl.model).Rewrite }

// savesRounds reports whether the client's own list saves it rounds with tools of other servers too.
// This holds for clients that defer tools: one search then loads everything that a call needs.
func (cl *client) savesRounds() bool {
	sends := cl.sends()
	return target.Find(cl.host.Name) != nil && sends != nil && sends.Defers()
}

// clientRow is the cost of a client, for tables and JSON.
type clientRow struct {
	Client      string   `json:"client"`
	Path        string   `json:"path"`
	Servers     int      `json:"servers"`
	Tools       int      `json:"tools"`
	Tokens      int      `json:"tokens"`
	ToolsAfter  int      `json:"toolsAfter"`
	TokensAfter int      `json:"tokensAfter"`
	Set         string   `json:"set,omitempty"`
	Members     []string `json:"members,omitempty"` // of the set, after the import
	Entry       []string `json:"entry,omitempty"`   // arguments of toolfold's entry; empty if the client has no such entry
	Notes       []string `json:"notes,omitempty"`
}

// clientRows returns a row for each client with a server.
func (s *survey) clientRows() []clientRow {
	rows := []clientRow{}
	for _, cl := range s.clients {
		if cl.servers+len(cl.own) == 0 {
			continue
		}
		row := clientRow{Client: cl.name(), Path: cl.path, Servers: cl.servers, Tools: cl.before.Tools, Tokens: cl.before.Tokens,
			ToolsAfter: cl.after.Tools, TokensAfter: cl.after.Tokens, Set: cl.set, Members: s.sets[cl.set].After, Notes: s.notes(cl)}
		for _, own := range cl.own {
			if own.Name == hosts.Server && len(own.Command) > 0 {
				row.Entry = []string{"serve"}
				for _, word := range redact.Value(texts(optionsOf(own))).([]any) {
					row.Entry = append(row.Entry, word.(string))
				}
			}
		}
		if cl.options != nil {
			row.Entry = append([]string{"serve"}, cl.options...)
		}
		rows = append(rows, row)
	}
	return rows
}

// wouldPayMore describes the cost of a client that is left alone.
func (cl *client) wouldPayMore() string {
	return fmt.Sprintf("%s would pay %d tokens in place of %d", cl.title(), cl.wouldPay, cl.before.Tokens)
}

// notes explains the figures of a client.
func (s *survey) notes(cl *client) (list []string) {
	if cl.leftAlone {
		list = append(list, cl.wouldPayMore()+": it is left alone; --anyway takes its servers over")
	}
	if cl.has && !cl.off && cl.set == "" {
		list = append(list, fmt.Sprintf("the entry %s of %s keeps its options and serves all upstreams, also upstreams of other clients: "+
			"--set=NAME in it limits it to a set", hosts.Server, cl.title()))
	}
	switch sends := cl.sends(); {
	case cl.before.Tools == 0 || sends == nil || cl.base != nil && cl.base.before.Tools > 0: // printed once
	case sends.ByServer():
		list = append(list, fmt.Sprintf("%s is counted with a line for each server, as it sends definitions only after a search; "+
			"models that version %s does not know get every definition", cl.title(), sends.Version))
	case sends.Defers():
		list = append(list, fmt.Sprintf("%s is counted with a line for each tool and the definitions of few, as it sends them", cl.title()))
	case cl.host.Rewrite.Defers():
		list = append(list, fmt.Sprintf("%s is counted with every definition, since version %[3]s does not know the model %[2]q of its file; "+
			"models that it knows get a line for each server", cl.title(), cl.model, sends.Version))
	}
	if len(cl.uncounted) > 0 {
		list = append(list, fmt.Sprintf("%s: not counted, as their tools are not known: %s", cl.title(), strings.Join(cl.uncounted, ", ")))
	}
	return list
}

// printClients prints what each client pays before and after.
func (s *survey) printClients(to io.Writer) error {
	rows := s.clientRows()
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(to)
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "client\tservers\ttools\ttokens now\ttools after\ttokens after\tentry")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\n", r.Client, r.Servers, r.Tools, r.Tokens, r.ToolsAfter, r.TokensAfter,
			strings.Join(r.Entry, " "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		for _, note := range r.Notes {
			fmt.Fprintln(to, note)
		}
	}
	return nil
}
