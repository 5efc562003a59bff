package page

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/tools/task"
)

// Site returns the page for [serve.HTTP] of the command serve, which serves b. The first view that calls an action
// makes a workbench of its own beside b. end ends the page, after the server and before b is closed.
func Site(c *cli.Context, o *settings.Options, b *workbench.Workbench) (site func(http.Handler, serve.Login) http.Handler, end func()) {
	own := ofPage(o)
	beside := &laterWorkbench{of: b, options: own}
	p := &Page{
		machine: newMachine(c, b.Records()), version: env.Version(), log: env.Of(c).Log(), now: time.Now,
		stored: func() bool { return b.Holds(own.Store) },
		call: func(ctx context.Context, action string, arguments json.RawMessage) (json.RawMessage, error) {
			second, err := beside.open()
			if err != nil {
				return nil, err
			}
			return caller(second)(ctx, action, arguments)
		},
		activity: b.Activity, called: b.Called, asks: beside, storeMark: b.Mark, definitions: beside.definitions,
		tools:  func() (toolbox, error) { return beside.open() },
		record: b.Change, scriptRun: beside.scriptRun, patience: patience,
		restart: servers.Restart, process: servers.Process, logIn: servers.LogIn,
	}
	p.live = newLive(p.log, p.mark)
	site = func(next http.Handler, l serve.Login) http.Handler {
		p.login = newLogin(p, l, next)
		p.routes()
		return p
	}
	return site, func() {
		p.live.close()
		p.machine.close()
		beside.close()
	}
}

// laterWorkbench is a workbench that is made by its first use.
type laterWorkbench struct {
	of      *workbench.Workbench
	options *settings.Options

	mu        sync.Mutex
	workbench *workbench.Workbench // nil before
}

// open returns the workbench. After an error the next call tries again.
func (b *laterWorkbench) open() (*workbench.Workbench, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.workbench == nil {
		made, err := b.of.Beside(b.options)
		if err != nil {
			return nil, err
		}
		b.workbench = made
	}
	return b.workbench, nil
}

// Inquiries implements [asker].
func (b *laterWorkbench) Inquiries(ctx context.Context, limit int) ([]storage.Inquiry, error) {
	made, err := b.open()
	if err != nil {
		return nil, err
	}
	return made.Inquiries(ctx, limit)
}

// Stuck implements [asker].
func (b *laterWorkbench) Stuck(ctx context.Context, limit int) ([]storage.Stuck, error) {
	made, err := b.open()
	if err != nil {
		return nil, err
	}
	return made.Stuck(ctx, limit)
}

// Questions implements [asker].
func (b *laterWorkbench) Questions(ctx context.Context, taskID string) ([]task.Question, error) {
	made, err := b.open()
	if err != nil {
		return nil, err
	}
	return made.Questions(ctx, taskID)
}

// Answer implements [asker].
func (b *laterWorkbench) Answer(ctx context.Context, taskID, key string, answer json.RawMessage) error {
	made, err := b.open()
	if err != nil {
		return err
	}
	return made.Answer(ctx, taskID, key, answer)
}

// definitions is the function of [Page].
func (b *laterWorkbench) definitions(ctx context.Context, taskID string) (map[string]json.RawMessage, error) {
	made, err := b.open()
	if err != nil {
		return nil, err
	}
	return made.Definitions(ctx, taskID)
}

// scriptRun is the function of [Page].
func (b *laterWorkbench) scriptRun(ctx context.Context, taskID, source string) (workbench.ScriptRun, error) {
	made, err := b.open()
	if err != nil {
		return workbench.ScriptRun{}, err
	}
	return made.ScriptRun(ctx, taskID, source)
}

// close closes the workbench, if it was made.
func (b *laterWorkbench) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.workbench != nil {
		b.workbench.Close()
	}
}
