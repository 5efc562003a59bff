package servers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/config"
)

// SwitchedOff returns a function for the names of the upstreams that the settings now switch off. It
// rereads the user's file only after a change. If the file cannot be read, the last names stay,
// initially the names in the options.
func SwitchedOff(o *settings.Options) func() map[string]bool {
	var mu sync.Mutex
	var size int64
	var changed time.Time
	files, off := o.Files, offOf(o.Options)
	return func() map[string]bool {
		mu.Lock()
		defer mu.Unlock()
		info, err := os.Stat(files.Global)
		if err != nil || info.Size() == size && info.ModTime().Equal(changed) {
			return maps.Clone(off)
		}
		layers, err := files.Load()
		if err != nil {
			return maps.Clone(off)
		}
		o, err := layers.Options()
		if err != nil {
			return maps.Clone(off)
		}
		size, changed = info.Size(), info.ModTime()
		off = offOf(o)
		return maps.Clone(off)
	}
}

// Switch switches an upstream on or off in the user's settings. A serve that runs applies it within a few
// seconds.
func Switch(ctx context.Context, o *settings.Options, name string, on bool) (err error) {
	service, path := config.New(o.Files, nil), "upstreams."+name+".disabled"
	if on {
		_, err = service.Unset(config.ByUser(ctx), config.UnsetIn{Path: path, Scope: config.Global})
	} else {
		_, err = service.Set(config.ByUser(ctx), config.SetIn{Path: path, Value: ordered.MustJSON(true), Scope: config.Global})
	}
	if err != nil {
		return fmt.Errorf("switching %s %s (disabled in its settings): %w", name, map[bool]string{true: "on", false: "off"}[on], err)
	}
	return nil
}

// offOf returns the names of the upstreams that settings switch off.
func offOf(o config.Options) map[string]bool {
	off := map[string]bool{}
	for name, u := range o.Upstreams {
		if u.Disabled {
			off[name] = true
		}
	}
	return off
}
