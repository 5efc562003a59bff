package workbench

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/storage"
)

// ofShell begins the end of the name of a place for one run of a script, by the shell.
const ofShell = " (shell "

// OpenForScript returns a workbench for one run of a script, which this process works itself: a new one, or the
// one with an id if that is not empty. No other process takes tasks of the place of this run, and this process
// takes no other tasks. A run that a server has begun stays with the servers of its workspace.
func OpenForScript(ctx context.Context, c *cli.Context, o *settings.Options, id string) (*Workbench, error) {
	others, err := servers.Upstreams(c, o)
	if err != nil {
		return nil, err
	}
	b := &Workbench{store: storage.Lazy(o.Store, o.StoreOptions()...), others: others}
	b.taskPlace = workspace.Name(o.Files.Workspace, o.WorkspaceName, o.Trusted()) + ofShell + uuid.NewString() + ")"
	if id != "" {
		db, err := b.store.Open(ctx)
		if err != nil {
			return nil, err
		}
		run, _, err := db.Task().Get(ctx, strings.ToLower(id))
		if err != nil {
			return nil, err
		}
		b.taskPlace = run.Workspace
	}
	o.Worker = strings.Contains(b.taskPlace, ofShell)
	return build(o, b)
}

// WorkScript runs the script of [OpenForScript]. The returned func ends that, after a running script has stopped.
func (b *Workbench) WorkScript(ctx context.Context, o *settings.Options) (end func()) {
	working, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if !o.Worker {
			return
		}
		if err := b.Work(working, scriptGrace); err != nil {
			b.log.Error("running a script", "err", err)
		}
	}()
	return func() { stop(); <-ended }
}
