package doctor

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
)

// foldedUpstreams returns what is known on this machine of the servers of the settings. It
// starts none.
func foldedUpstreams(c *cli.Context) (*settings.Options, []doctor.Folded, error) {
	o, g, err := servers.OpenGateway(c, "")
	if err != nil {
		return nil, nil, err
	}
	defer g.Close()
	var folded []doctor.Folded
	for _, name := range slices.Sorted(maps.Keys(o.Upstreams)) {
		answer, families, known := g.Listed(name)
		if !known {
			problem := "it has not listed its tools yet: toolfold upstream check " + name
			if _, err := servers.OfUpstream(name, o.Upstreams[name], o.Files.Workspace); err != nil {
				problem = err.Error()
			}
			folded = append(folded, doctor.Folded{List: doctor.List{Server: name, Problem: problem}})
			continue
		}
		l, err := servers.ListOf(answer)
		if err != nil {
			return nil, nil, fmt.Errorf("upstream %s: %w", name, err)
		}
		l.Server = name
		f := doctor.Folded{List: l, Actions: map[string]string{}}
		if _, f.Cost, err = servers.Costs(answer, families, o); err != nil {
			return nil, nil, fmt.Errorf("upstream %s: %w", name, err)
		}
		for _, family := range families {
			for _, a := range family.Actions {
				f.Actions[strings.TrimPrefix(a.Aliases[0], name+".")] = a.FullName()
			}
		}
		folded = append(folded, f)
	}
	return o, folded, nil
}

// addUpstreams adds to a report what the servers of the settings cost, and what is called.
func addUpstreams(c *cli.Context, report *doctor.Whole) error {
	o, folded, err := foldedUpstreams(c)
	if err != nil {
		return err
	}
	calls, err := tracedCalls(c.Context, o)
	if err != nil {
		return err
	}
	report.TracedCalls = new(len(calls))
	if report.Upstreams, err = doctor.Upstreams(folded, calls); err != nil {
		return err
	}
	own, err := doctor.CostOf(ownList(o))
	if err != nil {
		return err
	}
	for _, u := range report.Upstreams {
		own = own.Add(u.Folded)
	}
	report.Advice = settings.ListAdvice(own.Tokens, o.SurfaceOptions().Level)
	return nil
}

// mostWeighty is the number of the dearest tools that are printed of a server.
const mostWeighty = 5

// upstreams prints what upstreams cost and what is called of them.
func (p printer) upstreams(b *bytes.Buffer, r doctor.Whole) {
	rows := [][]any{{"upstream", "tools", "tokens", "folded", "tokens", "calls", "never called"}}
	for _, u := range r.Upstreams {
		if u.Problem == "" {
			rows = append(rows, []any{u.Name, u.Raw.Tools, u.Raw.Tokens, u.Folded.Tools, u.Folded.Tokens, u.Calls, len(u.Never)})
		}
	}
	p.table(b, rows)
	fmt.Fprintf(b, "calls are those in the newest %d traces of the store, %d in all\n", newestTraces, *r.TracedCalls)
	for _, u := range r.Upstreams {
		if u.Problem != "" {
			fmt.Fprintf(b, "\n%s: %s\n", u.Name, u.Problem)
			continue
		}
		fmt.Fprintf(b, "\n%s, what weighs most\n", u.Name)
		var tools [][]any
		for _, tool := range u.Tools[:min(mostWeighty, len(u.Tools))] {
			tools = append(tools, []any{tool.Name, tool.Tokens, "tokens", tool.Calls, "calls"})
		}
		p.table(b, tools)
		if *r.TracedCalls > 0 && len(u.Never) > 0 {
			fmt.Fprintf(b, "never called: %s\n", strings.Join(u.Never, ", "))
		}
	}
}
