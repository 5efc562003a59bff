package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	runscript "github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/tools/script"
	"github.com/toolfold/toolfold/tools/task"
)

// scriptRuns keeps runs of scripts as tasks that call script.run. It implements [script.Runs].
type scriptRuns struct{ keeper }

func (h Host) scripts() *script.Service {
	place := h.WorkspaceName
	h.WorkspaceName = cmp.Or(h.ScriptPlace, h.WorkspaceName)
	service := script.New(&runscript.Runner{Caller: h.Caller, Names: h.Caller, Now: h.Now, Consent: h.ScriptsConfirm}, scriptRuns{h.keeper()})
	return service.WithLibrary(script.Library{
		Folder: h.folder(), Workspace: place, ParseRights: permission.Parse, Rights: h.Rights, Now: h.Now,
		Open: openStore(h, func(db *storage.DB) script.Store { return db.Script() }),
	})
}

// Scripts returns the stored scripts of the workspace: files, and those in the store if it is open.
func (h Host) Scripts(ctx context.Context) ([]script.Script, error) { return h.known(ctx, h.scripts()) }

// known returns the scripts of a service. It opens no store.
func (h Host) known(ctx context.Context, service *script.Service) ([]script.Script, error) {
	isOpen := false
	select {
	case <-h.Opened:
		isOpen = true
	default:
	}
	return service.Known(ctx, isOpen)
}

// findable lets tools.find find the scripts of a service.
func (h Host) findable(service *script.Service) *script.Service {
	if h.Discovery == nil {
		return service
	}
	h.Discovery.ListScripts(func(ctx context.Context) (list []lazy.Script, err error) {
		known, err := h.known(ctx, service)
		for _, one := range known {
			list = append(list, lazy.Script{Name: one.Name, Description: one.Description, InputSchema: one.InputSchema})
		}
		return list, err
	})
	return service
}

// Began is called with the id of a run that is kept, if the context of its call has one.
type Began func(id string)

// Keep implements [script.Runs].
func (s scriptRuns) Keep(ctx context.Context, args json.RawMessage) (id string, err error) {
	run := serve.TaskCall{Action: work.Script, Arguments: args, Name: work.Script, Raw: args}
	if client := callctx.ClientOf(ctx); client != nil {
		run.Client = client.Declared()
	}
	id, err = s.keep(ctx, run)
	if began := callctx.Of[Began](ctx); began != nil && id != "" {
		began(id)
	}
	return id, err
}

// Await implements [script.Runs].
func (s scriptRuns) Await(ctx context.Context, id string, own bool) (out runscript.Result, err error) {
	service, err := s.open(ctx)
	if err != nil {
		return out, err
	}
	last, unmanned := "", time.Now().Add(time.Second)
	for pause := 2 * time.Millisecond; ; pause = min(pause+pause/4+time.Millisecond, 200*time.Millisecond) {
		stored, err := s.run(ctx, service, id)
		if err != nil {
			return out, err
		}
		if task.Final(stored.Status) {
			return ended(stored)
		}
		if len(stored.Questions) > 0 {
			if err := relay(ctx, service, id, stored.Questions[0]); ctx.Err() != nil {
				return out, s.left(ctx, id, own)
			} else if err != nil {
				return out, err
			}
			continue
		}
		if time.Now().After(unmanned) {
			worked, err := service.Store.Worked(ctx, stored.Workspace)
			if err != nil {
				return out, err
			}
			if !worked {
				return out, toolfold.Errorf(toolfold.TimedOut, "the run %s waits, because no process runs the tasks of this workspace", id).
					WithHint("start toolfold serve here; script.run with this id goes on")
			}
			unmanned = time.Now().Add(5 * time.Second)
		}
		if stored.Message != last {
			last = stored.Message
			toolfold.Report(ctx, toolfold.Progress{Message: last})
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return out, s.left(ctx, id, own)
		}
	}
}

// left returns the error for a call whose context ended before its run. It ends a run of its own,
// unless only the server of the call stops.
func (s scriptRuns) left(ctx context.Context, id string, own bool) error {
	if !own || errors.Is(context.Cause(ctx), callctx.ErrStopped) {
		return ctx.Err()
	}
	return errors.Join(ctx.Err(), s.Cancel(context.WithoutCancel(ctx), id))
}

// relay asks the client of ctx a question of a run, and stores its answer.
func relay(ctx context.Context, service *task.Service, id string, q task.Question) error {
	client := callctx.ClientOf(ctx)
	if client == nil {
		return toolfold.Errorf(toolfold.ClientLacks, "the run %s asks a question, and this client cannot be asked", id).
			WithHint("call script.run with this id from a client that can be asked; task.cancel ends the run")
	}
	answer, err := client.Ask(ctx, callctx.Question{Key: q.Key, Method: q.Method, Params: q.Params})
	if err != nil {
		return toolfold.Errorf(toolfold.ClientLacks, "the run %s asks a question that this client did not answer: %v", id, err).
			WithHint("script.run with this id asks again; task.cancel ends the run")
	}
	return service.Answer(ctx, id, map[string]json.RawMessage{q.Key: answer})
}

// Ended implements [script.Runs].
func (s scriptRuns) Ended(ctx context.Context, id string) (out runscript.Result, isEnded bool, err error) {
	service, err := s.open(ctx)
	if err != nil {
		return out, false, err
	}
	stored, err := s.run(ctx, service, id)
	if err != nil || !task.Final(stored.Status) {
		return out, false, err
	}
	out, err = ended(stored)
	return out, true, err
}

// Resume implements [script.Runs].
func (s scriptRuns) Resume(ctx context.Context, id string, outcomes map[string]json.RawMessage) error {
	service, err := s.open(ctx)
	if err != nil {
		return err
	}
	return service.Resume(ctx, id, outcomes)
}

// Last implements [script.Runs].
func (s scriptRuns) Last(ctx context.Context) (id string, err error) {
	service, err := s.open(ctx)
	if err != nil {
		return "", err
	}
	last, _, err := service.LastCall(ctx, work.Script, callerOf(ctx))
	return last.ID, err
}

// Source implements [script.Runs].
func (s scriptRuns) Source(ctx context.Context, id string) (string, error) {
	service, err := s.open(ctx)
	if err != nil {
		return "", err
	}
	stored, err := s.run(ctx, service, id)
	if err != nil {
		return "", err
	}
	call, _ := task.ParseCall(stored.Input)
	var in script.RunIn
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return "", fmt.Errorf("decoding a run: %w", err)
	}
	if in.Code != "" {
		return in.Code, nil
	}
	pins, err := task.Pins(stored.Definition)
	if err != nil {
		return "", err
	}
	var then script.Script
	if pinned := pins[(work.Reference{Kind: work.Stored, ID: in.Name}).String()]; pinned != nil {
		if err := json.Unmarshal(pinned, &then); err != nil {
			return "", fmt.Errorf("decoding the script of a run: %w", err)
		}
		return then.Code, nil
	}
	return "", toolfold.Errorf(toolfold.InvalidInput, "the run %s has no script: its arguments are not known before it begins", id)
}

// run returns the task of a run that the caller may see.
func (s scriptRuns) run(ctx context.Context, service *task.Service, id string) (task.ClientTask, error) {
	stored, found, err := service.ClientTask(ctx, id)
	if err != nil {
		return stored, err
	}
	if call, _ := task.ParseCall(stored.Input); !found || call.Tool != work.Script || !s.ownerOf(ctx, stored) {
		return stored, toolfold.Errorf(task.NotFound, "there is no run %s of a script that you may see", id).
			WithHint("task.list shows the tasks there are; a run is one named %s", work.Script)
	}
	return stored, nil
}

// ended returns the result of a run whose task has ended.
func ended(t task.ClientTask) (out runscript.Result, err error) {
	if len(t.Output) > 0 {
		var refused struct {
			Error *toolfold.Error `json:"error"`
		}
		if err := json.Unmarshal(t.Output, &out); err != nil {
			return out, fmt.Errorf("decoding the result of a run: %w", err)
		}
		if err := json.Unmarshal(t.Output, &refused); err == nil && !out.Success && refused.Error != nil && out.Calls == nil && out.ID == "" {
			return out, refused.Error
		}
	}
	if !out.Success && out.Error == nil {
		code := map[string]string{task.Cancelled: toolfold.Cancelled, task.TimedOut: toolfold.TimedOut}[t.Status]
		out.Error = &runscript.Failure{Code: cmp.Or(code, engine.Interrupted), Message: cmp.Or(t.Error, "the run was stopped")}
	}
	if !out.Success {
		out.ID = t.ID
	}
	return out, nil
}
