// Package all is the one list of families.
package all

import (
	"context"
	"time"

	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/tools"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/discovery"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/session"
)

// Stores is where families keep what they must not lose.
type Stores interface {
	Memory() memory.Store
	Session() session.Store
}

// Host is what families run on.
type Host struct {
	// Open opens the stores, or returns the ones that are open. It is called
	// by the first call of each family that keeps something.
	Open func(context.Context) (Stores, error)

	Files     config.Files
	Discovery *lazy.Discovery
	Now       func() time.Time
	NewID     func() string // UUIDs
}

// Mount returns every family, bound to the host, in the order of listings. It
// opens nothing.
func Mount(h Host) []*tools.Spec {
	return []*tools.Spec{
		memory.Family.Mount(stored(h, func(s Stores) *memory.Service { return memory.New(s.Memory(), h.Now) })),
		session.Family.Mount(stored(h, func(s Stores) *session.Service { return session.New(s.Session(), h.Now, h.NewID) })),
		config.Family.Mount(func(context.Context) (*config.Service, error) { return config.New(h.Files), nil }),
		discovery.Family.Mount(func(context.Context) (*discovery.Service, error) { return discovery.New(h.Discovery), nil }),
	}
}

// stored opens the service of a family that keeps something.
func stored[S any](h Host, build func(Stores) S) tools.Opener[S] {
	return func(ctx context.Context) (service S, err error) {
		stores, err := h.Open(ctx)
		if err != nil {
			return service, err
		}
		return build(stores), nil
	}
}

// Specs returns the declarations of all families, in the order of listings.
// Their actions cannot be run.
func Specs() []*tools.Spec {
	return Mount(Host{})
}
