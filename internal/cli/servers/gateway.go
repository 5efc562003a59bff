package servers

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// connectFunc starts or reaches an upstream.
type connectFunc = func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error)

// NewGateway returns a gateway to servers, with their records on this machine.
func NewGateway(o gateway.Options) (*gateway.Gateway, error) {
	dir, err := Records()
	if err != nil {
		return nil, err
	}
	return newGateway(o, dir)
}

// upstreamLists is the folder of the lists of upstreams, in the user's data folder.
const upstreamLists = "upstreams"

// Records returns the folder with the lists, accepted definitions and logs of upstreams.
func Records() (string, error) {
	dir, err := storage.DataDir()
	return filepath.Join(dir, upstreamLists), err
}

func newGateway(o gateway.Options, dir string) (*gateway.Gateway, error) {
	o.Dir, o.Ours, o.Version = dir, app.Families(), env.Version()
	return gateway.New(o)
}

// RemoveJournal removes the log of a server that is no longer an upstream.
func RemoveJournal(server string) error {
	dir, err := Records()
	if err != nil {
		return err
	}
	return gateway.RemoveJournal(dir, server)
}

// OpenGateway returns a gateway to the servers of the settings and of a client's file; path may be
// empty. It starts no server. Records are those of this machine.
func OpenGateway(c *cli.Context, path string) (*settings.Options, *gateway.Gateway, error) {
	return openGateway(c, path, func(*settings.Options, *gateway.Options) {})
}

// OpenGatewayOn is OpenGateway with the records that other servers share; nil = there are none.
func OpenGatewayOn(records gateway.Records, c *cli.Context, path string) (*settings.Options, *gateway.Gateway, error) {
	return openGateway(c, path, func(_ *settings.Options, to *gateway.Options) { to.Records = records })
}

// lookWithin limits the time of looking for a store.
const lookWithin = 5 * time.Second

// OpenReview is OpenGateway for commands that list, approve or plan: with the records in the store of the settings, if that
// is PostgreSQL. It creates no store, and fails if that one does not answer: what the user decides would be lost.
func OpenReview(c *cli.Context, path string) (*settings.Options, *gateway.Gateway, error) {
	var silent error
	o, g, err := openGateway(c, path, func(o *settings.Options, to *gateway.Options) {
		if !storage.IsPostgres(o.Store) {
			return
		}
		ctx, done := context.WithTimeout(c.Context, lookWithin)
		defer done()
		var exists bool
		if exists, silent = storage.Exists(ctx, o.Store, o.StoreOptions()...); silent != nil || !exists {
			return
		}
		store := storage.Lazy(o.Store, o.StoreOptions()...)
		to.Records, to.Closed = app.Records{Open: store.Open}, func() { _ = store.Close() }
	})
	if err == nil && silent != nil {
		g.Close()
		return nil, nil, fmt.Errorf("the store with the lists, plans and approvals of upstreams does not answer: %w", silent)
	}
	return o, g, err
}

// openGateway returns a gateway with more options, which only uses records in a store that are there.
func openGateway(c *cli.Context, path string, more func(*settings.Options, *gateway.Options)) (*settings.Options, *gateway.Gateway, error) {
	o, err := settings.Load(c)
	if err != nil {
		return nil, nil, err
	}
	all, problems, err := WithFile(c, o, path)
	if err != nil {
		return nil, nil, err
	}
	if _, err := o.Choose(slices.Collect(maps.Keys(all))); err != nil {
		return nil, nil, env.UsageError("%v", err)
	}
	list := gatewayUpstreams(o, all, problems)
	o.Upstreams = all
	options := gateway.Options{Upstreams: list, Log: env.Of(c).Log(), Quiet: true, OneClient: true,
		Connect: forServing, OursOff: o.GatewayOnly(), Joins: true}
	more(o, &options)
	g, err := NewGateway(options)
	return o, g, err
}

// TellShared reports on standard error which of the servers have their record in the store.
func TellShared(c *cli.Context, o *settings.Options, g *gateway.Gateway, names ...string) {
	if names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !g.Shares(name) }); len(names) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: for all servers on the store %v: the list, plan and approvals of %s\n",
			settings.StoreOf(o.Layers), strings.Join(names, ", "))
	}
}

// forServing starts or reaches a server for this process alone. It declares the same methods as serve on
// stdio, because the listed tools may depend on them.
func forServing(ctx context.Context, u gateway.Upstream, c upstream.Client) (gateway.Session, error) {
	if IsShared(u) { // its sessions have different roots
		c.Asks = slices.DeleteFunc(slices.Clone(c.Asks), func(method string) bool { return method == upstream.Roots })
	}
	return gateway.Connect(ctx, u, c)
}

// Costs counts the tools of a server as they are, and folded under the options.
func Costs(answer upstream.Answer, families []*toolfold.Family, o *settings.Options) (raw, folded doctor.Cost, err error) {
	l, err := ListOf(answer)
	if err != nil {
		return raw, folded, err
	}
	if raw, err = doctor.CostOf(l); err != nil {
		return raw, folded, err
	}
	folded, err = doctor.Count(surface.List(families, o.SurfaceOptions()))
	return raw, folded, err
}
