package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
)

// openGateway adds the known tools of other servers to the surface, and keeps them up to date.
func (b *Workbench) openGateway(o *settings.Options, others []gateway.Upstream) error {
	var err error
	options := gateway.Options{Upstreams: others, Log: b.log, Connect: servers.Sharing(b.log),
		OneClient: !o.ManyClients, Memory: int64(o.UpstreamMegabytes) << 20, Rights: o.Rights(true), Unread: o.Resources == "none",
		Around: b.record, OursOff: o.GatewayOnly(), Off: servers.SwitchedOff(o)}
	if b.sessions != nil {
		options.Hold = b.sessions.Hold
	}
	if o.ManyClients || o.Joins {
		options.Records, options.Joins = b.Records(), !o.ManyClients
	}
	if options.Logins, err = b.callerLogins(o); err != nil {
		return err
	}
	b.gateway, err = servers.NewGateway(options)
	if err != nil {
		return err
	}
	b.Discovery.ListAbsent(func() (rows []lazy.Row) {
		absent, idle := b.gateway.Absent(), b.gateway.Idle()
		if b.server.Load() == nil { // only serve asks servers for their first list
			for _, name := range b.gateway.Unknown() {
				absent[name] += ": toolfold upstream check " + name + " asks it"
				delete(idle, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(absent)) {
			rows = append(rows, lazy.Row{Name: name, Summary: "Tools of another server.", Category: toolfold.Category(name), Reason: absent[name],
				Absent: true, Idle: idle[name]})
		}
		return rows
	}, b.gateway.Withheld)
	var offered []string
	put := func(families []*toolfold.Family) error {
		var names []string
		for _, f := range families {
			names = append(names, f.Name)
		}
		gone := slices.DeleteFunc(offered, func(name string) bool { return slices.Contains(names, name) })
		offered = names
		return errors.Join(b.Remove(gone...), b.Put(families...))
	}
	tell := func(what func(*serve.Server)) {
		if server := b.server.Load(); server != nil {
			what(server)
		}
	}
	b.gateway.Follow(gateway.Follower{
		Families: func(families []*toolfold.Family) {
			if err := put(families); err != nil {
				b.log.Error("offering the tools of upstreams", "err", err)
			}
			if b.server.Load() != nil {
				b.printLapses(o)
			}
		},
		Prompts:   func() { tell((*serve.Server).PromptsChanged) },
		Resources: func() { tell((*serve.Server).ResourcesChanged) },
		Updated:   func(uri string) { tell(func(s *serve.Server) { s.Updated(uri) }) },
	})
	return put(b.gateway.Families())
}

// Records returns the records of upstreams that servers on the store share; nil if it is not PostgreSQL.
func (b *Workbench) Records() gateway.Records {
	if !b.shared {
		return nil
	}
	return app.Records{Open: b.store.Open}
}

// record runs a request of an upstream that is not a call. It is counted and traced like a call.
func (b *Workbench) record(ctx context.Context, a *toolfold.Action, params json.RawMessage, run gateway.Request) (json.RawMessage, error) {
	var result json.RawMessage
	var failed error
	request := func(ctx context.Context, _ *call.Call) toolfold.Answer {
		if result, failed = run(ctx); failed == nil {
			return toolfold.Answer{Content: result}
		}
		var known *toolfold.Error
		if !errors.As(failed, &known) {
			known = toolfold.Errorf(toolfold.UpstreamError, "%s: %s", a.FullName(), failed)
		}
		return known.Answer()
	}
	b.metrics.Calls(b.recordUpstreams(b.tracing.Calls(b.audited(request))))(ctx, &call.Call{
		Name: a.FullName(), Raw: params, Entry: entry.New(a, a.FullName()), Origin: toolfold.OriginOf(ctx),
	})
	return result, failed
}

// Learn asks servers whose tools are unknown for their lists. It waits only if other servers' tools are
// listed (not at level search) and none is known yet: many clients request the list once. Clients are
// notified of later results.
func (b *Workbench) Learn(ctx context.Context, wait time.Duration) {
	if b.gateway == nil {
		return
	}
	unknown := b.gateway.Unasked()
	if len(unknown) == 0 {
		return
	}
	fmt.Fprintf(b.env.Err, "toolfold: asking for the first list of tools: upstream %s\n", strings.Join(unknown, ", "))
	if b.Level == lazy.Search || len(b.gateway.Families()) > 0 {
		wait = 0
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_ = b.gateway.Learn(ctx) // failures are in the log and in tools.list
}

// RuleFamilies returns the families that rules can name: the served ones, and the workbench if it is off.
func (b *Workbench) RuleFamilies() []*toolfold.Family {
	return slices.Concat(b.servedFamilies(), b.off)
}

// servedFamilies returns the served families, and those that stand for prompts and resources in rules.
func (b *Workbench) servedFamilies() []*toolfold.Family {
	if b.gateway == nil {
		return b.Families()
	}
	return slices.Concat(b.Families(), b.gateway.Named())
}

// checkRules rejects a permission pattern that matches no action. If a pattern begins with the name of
// a server that never listed its tools, it only prints a note.
func (b *Workbench) checkRules(r permission.Rules) error {
	for _, pattern := range slices.Concat(r.Allow, r.Deny) {
		if b.isOfUnknown(pattern) {
			fmt.Fprintf(b.env.Err, "toolfold: the matches of %q are not known until the server lists its tools\n", pattern)
		}
	}
	return r.Check(b.RuleFamilies())
}

// SurfaceCost counts the list under the options of the workbench.
func (b *Workbench) SurfaceCost(o *settings.Options) (doctor.SurfaceCost, error) {
	return servers.SurfaceCost(o, b.gateway)
}

// isOfUnknown reports whether a pattern begins with the name of a server that never listed its tools.
func (b *Workbench) isOfUnknown(pattern string) bool {
	return b.gateway != nil &&
		slices.ContainsFunc(b.gateway.Unknown(), func(name string) bool { return strings.HasPrefix(pattern, name) })
}
