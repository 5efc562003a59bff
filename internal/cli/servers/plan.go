package servers

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/upstream"
)

// PlannedFamilies returns the families that serve would list with these settings. answers has new lists
// by upstream; other lists come from this machine. unknown names the upstreams without a list. It
// starts no server and stores nothing.
func PlannedFamilies(o *settings.Options, answers map[string]upstream.Answer) (
	families []*toolfold.Family, unknown []string, err error,
) {
	copied, err := os.MkdirTemp("", "toolfold-plan-")
	if err != nil {
		return nil, nil, fmt.Errorf("planning the lists of upstreams: %w", err)
	}
	defer os.RemoveAll(copied)
	dir, err := storage.DataDir()
	if err != nil {
		return nil, nil, err
	}
	if lists := filepath.Join(dir, upstreamLists); isDir(lists) {
		if err := os.CopyFS(copied, os.DirFS(lists)); err != nil {
			return nil, nil, fmt.Errorf("planning the lists of upstreams: %w", err)
		}
	}
	g, err := newGateway(gateway.Options{Upstreams: gatewayUpstreams(o, o.Upstreams, nil), Log: slog.New(slog.DiscardHandler)}, copied)
	if err != nil {
		return nil, nil, err
	}
	defer g.Close()
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		if err := g.Keep(name, answers[name]); err != nil {
			return nil, nil, err
		}
	}
	return g.Families(), g.Unknown(), nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
