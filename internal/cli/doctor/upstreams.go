package doctor

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
)

// foldedUpstreams returns the known data of a gateway's servers. It starts no server.
func foldedUpstreams(o *settings.Options, g *gateway.Gateway) (folded []doctor.FoldedServer, err error) {
	fails := g.Failures()
	for _, name := range slices.Sorted(maps.Keys(o.Upstreams)) {
		answer, families, known := g.Listing(name)
		problem := o.Lacks(name)
		if o.Upstreams[name].Disabled {
			problem = g.Trouble()[name]
		} else if !known {
			problem = cmp.Or(problem, fails[name], "it has not listed its tools yet: toolfold upstream check "+name)
		}
		if problem != "" {
			folded = append(folded, doctor.FoldedServer{List: doctor.List{Server: name, Problem: problem}})
			continue
		}
		l, err := servers.ListOf(answer)
		if err != nil {
			return nil, fmt.Errorf("upstream %s: %w", name, err)
		}
		l.Server = name
		held, err := g.HeldTools(name)
		if err != nil {
			return nil, fmt.Errorf("upstream %s: %w", name, err)
		}
		f := doctor.FoldedServer{List: l, HeldTools: len(held), Fails: fails[name], Actions: map[string]string{}}
		if _, f.Cost, err = servers.Costs(answer, o.Rights(true).Filter(families), o); err != nil {
			return nil, fmt.Errorf("upstream %s: %w", name, err)
		}
		for _, family := range families {
			for _, a := range family.Actions {
				f.Actions[strings.TrimPrefix(a.Aliases[0], name+".")] = a.FullName()
			}
		}
		folded = append(folded, f)
	}
	return folded, nil
}

// addUpstreams adds the costs and calls of the settings' servers to a report.
func addUpstreams(c *cli.Context, report *doctor.FullReport) error {
	o, g, err := servers.OpenGateway(c, "")
	if err != nil {
		return err
	}
	defer g.Close()
	folded, err := foldedUpstreams(o, g)
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
	served, err := servers.SurfaceCost(o, g)
	if err != nil {
		return err
	}
	report.Surface, report.Advice = &served, settings.ListAdvice(served.Tokens, o.SurfaceOptions().Level)
	return nil
}

// mostWeighty is how many of the largest tools are printed.
const mostWeighty = 5

// note is the last cell of a row. It is not aligned.
type note string

// upstreams prints the costs and calls of upstreams.
func (p printer) upstreams(b *bytes.Buffer, r doctor.FullReport) {
	fmt.Fprintf(b, "%s\n\n", r.Surface)
	rows := [][]any{{"upstream", "tools", "tokens", "folded", "tokens", "calls", "never called"}}
	var raw, folded doctor.Cost
	var calls, never int
	for _, u := range r.Upstreams {
		if u.Problem != "" {
			rows = append(rows, []any{u.Name, "-", "-", "-", "-", "-", "-", note(u.Problem)})
			continue
		}
		rows = append(rows, []any{u.Name, u.Raw.Tools, u.Raw.Tokens, u.Folded.Tools, u.Folded.Tokens, u.Calls, len(u.Never), remark(u)})
		raw, folded, calls, never = raw.Add(u.Raw), folded.Add(u.Folded), calls+u.Calls, never+len(u.Never)
	}
	if len(r.Upstreams) > 1 {
		rows = append(rows, []any{"total", raw.Tools, raw.Tokens, folded.Tools, folded.Tokens, calls, never})
	}
	p.table(b, rows)
	fmt.Fprintf(b, "calls are those in the newest %d traces of the store, %d in all\n", newestTraces, *r.TracedCalls)
	p.weighty(b, r.Upstreams)
	for _, u := range r.Upstreams {
		if *r.TracedCalls > 0 && len(u.Never) > 0 {
			b.WriteByte('\n')
			p.paragraph(b, "", fmt.Sprintf("%s, never called: %s", u.Name, strings.Join(u.Never, ", ")))
		}
	}
}

// remark reports held tools of a server and why it fails.
func remark(u doctor.Upstream) note {
	var parts []string
	if u.HeldTools > 0 {
		parts = append(parts, fmt.Sprintf("%d held back: toolfold upstream approve %s", u.HeldTools, u.Name))
	}
	if u.Fails != "" {
		parts = append(parts, "fails: "+u.Fails)
	}
	return note(strings.Join(parts, "; "))
}

// weighty prints the largest tools of all servers.
func (p printer) weighty(b *bytes.Buffer, upstreams []doctor.Upstream) {
	type ownedTool struct {
		server string
		doctor.ToolUse
	}
	var tools []ownedTool
	for _, u := range upstreams {
		for _, tool := range u.Tools {
			tools = append(tools, ownedTool{u.Name, tool})
		}
	}
	if len(tools) == 0 {
		return
	}
	slices.SortStableFunc(tools, func(a, b ownedTool) int { return cmp.Compare(b.Tokens, a.Tokens) })
	fmt.Fprint(b, "\nlargest tools\n")
	var rows [][]any
	for _, tool := range tools[:min(mostWeighty, len(tools))] {
		rows = append(rows, []any{tool.server + "." + tool.Name, tool.Tokens, "tokens", tool.Calls, "calls"})
	}
	p.table(b, rows)
}
