package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// step is identified by its task and its path in the task, spelt as in the store: "7/1
// /loop/0/ask".
type step struct{ task, path string }

// stepsOfTask lists the paths of each task's steps that have an effect.
var stepsOfTask = []string{"/ask", "/loop/0/inner", "/loop/0/create", "/loop/1/inner", "/loop/1/create", "/last"}

// agentOfTasks has steps with an effect that must not happen twice. They create a session, or write
// a line to a file, like a paid model call outside of the store. The step shaky fails at its first
// attempt.
const agentOfTasks = `[
	{"stepId": "ask", "name": "a", "type": "prompt", "config": {"provider": "effect", "prompt": "{{ input.task }} /ask\n"}},
	{"stepId": "shaky", "name": "s", "type": "prompt", "config": {"provider": "shaky", "prompt": "{{ input.task }}\n"}},
	{"stepId": "loop", "name": "l", "type": "loop", "config": {"items": [0, 1], "steps": [
		{"stepId": "inner", "name": "i", "type": "prompt",
			"config": {"provider": "effect", "prompt": "{{ input.task }} /loop/{{ index }}/inner\n"}},
		{"stepId": "create", "name": "c", "type": "tool", "config": {"tool": "session.create",
			"arguments": {"initiator": "attack", "task": "{{ input.task }} /loop/{{ index }}/create"}}}]}},
	{"stepId": "last", "name": "e", "type": "prompt", "config": {"provider": "effect", "prompt": "{{ input.task }} /last\n"}}]`

const (
	rerun   = "finished steps that ran again"
	repeats = "steps that ran more often than they were cut off"
	missing = "steps that did not run"
)

// effects tracks the steps of tasks across kills.
type effects struct {
	place  *place
	file   string
	pool   *sql.DB
	frozen map[step]int   // runs of a step when it was first seen as finished
	turns  map[string]int // last turn that a kill interrupted, by task
	cuts   map[step]int   // how often a kill may have interrupted a step
	middle int            // runs interrupted between their first and last step
}

// settings configures the steps' commands, which write to a file.
func (e *effects) settings() string {
	return "TOOLFOLD_PROVIDERS=" + asText(map[string]any{
		"effect": map[string]any{"type": "command", "command": []string{"sh", "-c", `sleep 0.0$(($$ % 4)); tee -a "$0"`, e.file}},
		"shaky": map[string]any{"type": "command", "command": []string{
			"sh", "-c", `read -r task; if grep -qx "tried $task" "$0"; then echo done; else echo "tried $task" >>"$0"; exit 1; fi`, e.file}},
	})
}

func asText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// count returns how often each step had its effect.
func (e *effects) count(ctx context.Context) (map[step]int, error) {
	counts := map[step]int{}
	text, err := os.ReadFile(e.file)
	if err != nil {
		return nil, err
	}
	add := func(label string, n int) {
		if task, path, ok := strings.Cut(label, " "); ok && task != "tried" {
			counts[step{task, path}] += n
		}
	}
	for line := range strings.Lines(string(text)) {
		add(strings.TrimSpace(line), 1)
	}
	rows, err := e.pool.QueryContext(ctx, `SELECT task, count(*) FROM `+e.table("sessions")+` GROUP BY task`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var label []byte
		var n int
		if err := rows.Scan(&label, &n); err != nil {
			return nil, err
		}
		add(string(label), n)
	}
	return counts, rows.Err()
}

// table returns the name of a table of the store.
func (e *effects) table(name string) string {
	if e.place.pool == nil {
		return name
	}
	return `"` + e.place.name + `".` + name
}

// state is a task in the store.
type state struct {
	status   string
	turn     int
	finished []string // paths of steps that are recorded as finished
}

// states returns the tasks by name.
func (e *effects) states(ctx context.Context) (map[string]state, error) {
	rows, err := e.pool.QueryContext(ctx, `SELECT t.name, t.status, t.turn, s.path FROM `+e.table("tasks")+` t
		LEFT JOIN `+e.table("task_steps")+` s ON s.task_id = t.id AND s.record IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	states := map[string]state{}
	for rows.Next() {
		var name, path []byte
		var one state
		if err := rows.Scan(&name, &one.status, &one.turn, &path); err != nil {
			return nil, err
		}
		if one.finished = states[string(name)].finished; path != nil {
			one.finished = append(one.finished, string(path))
		}
		states[string(name)] = one
	}
	return states, rows.Err()
}

// look compares the steps that ran with the finished ones. No server may run meanwhile.
func (e *effects) look(ctx context.Context) error {
	states, err := e.states(ctx)
	if err != nil {
		return fmt.Errorf("reading the steps: %w", err)
	}
	counts, err := e.count(ctx)
	if err != nil {
		return fmt.Errorf("counting effects: %w", err)
	}
	for task, now := range states {
		isCut := now.status == "running" && now.turn > e.turns[task] // otherwise no server has resumed it since the last kill
		if isCut {
			e.turns[task] = now.turn
		}
		if isCut && len(now.finished) > 0 && !slices.Contains(now.finished, "/last") {
			e.middle++
		}
		for _, path := range stepsOfTask {
			s := step{task, path}
			done := now.status == "completed" || slices.ContainsFunc(now.finished, func(recorded string) bool {
				return path == recorded || strings.HasPrefix(path, recorded+"/")
			})
			before, known := e.frozen[s]
			switch {
			case known && counts[s] != before:
				e.place.report.bad(rerun, "%s of %s ran %d times by its end, and %d times now", path, task, before, counts[s])
				e.frozen[s] = counts[s]
			case done && !known:
				e.frozen[s] = counts[s]
			case !done && isCut:
				e.cuts[s]++
			}
		}
	}
	return nil
}

// verify checks the end: all steps of all tasks have run, and no step more often than the kills
// explain.
func (e *effects) verify(ctx context.Context) error {
	if err := e.look(ctx); err != nil {
		return err
	}
	counts, err := e.count(ctx)
	if err != nil {
		return err
	}
	states, err := e.states(ctx)
	for task, now := range states {
		for _, path := range stepsOfTask {
			s := step{task, path}
			if counts[s] == 0 {
				e.place.report.bad(missing, "%s of %s, which is %s", path, task, now.status)
			}
			if counts[s] > 1+e.cuts[s] {
				e.place.report.bad(repeats, "%s of %s ran %d times and was cut off %d times", path, task, counts[s], e.cuts[s])
			}
		}
	}
	return err
}

// steps kills servers in the middle of tasks with several steps and counts the effects. Attempts
// and task.retry run tasks again.
func steps(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	e := &effects{
		place: p, pool: p.pool, file: filepath.Join(p.dir, "effects"),
		frozen: map[step]int{}, turns: map[string]int{}, cuts: map[step]int{},
	}
	if err := os.WriteFile(e.file, nil, 0o600); err != nil {
		return err
	}
	p.settings = append(p.settings, e.settings())
	if e.pool == nil {
		pool, err := sql.Open("sqlite", strings.TrimPrefix(p.store, "sqlite://"))
		if err != nil {
			return err
		}
		e.pool = pool
		defer e.pool.Close()
	}
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	c := s.client()
	call := func(tool string, arguments map[string]any) (content taskList, ok bool) {
		got, err := c.call(ctx, tool, arguments)
		if err != nil && c.server.meant.Load() {
			return content, false // killed
		}
		ok = r.judge(c, arguments, got, err) && got.code == ""
		if ok {
			_ = json.Unmarshal(got.content, &content)
		}
		return content, ok
	}
	// Tasks of a killed server hold their places until their lease expires.
	_, queued := call("queue", map[string]any{"action": "create", "name": "steps", "maxConcurrency": 100})
	_, registered := call("agent", map[string]any{
		"action": "register", "agentId": "steps", "description": "Steps with effects.", "workflow": json.RawMessage(agentOfTasks),
	})
	if !queued || !registered {
		return fmt.Errorf("the queue or the agent was refused")
	}
	random := rand.New(rand.NewPCG(a.seed, 1))
	acknowledged, round := 0, 0
	// A kill in the middle of a task cannot be aimed at on a busy machine: kills
	// go on until one was, as far as the limit of a measure allows.
	for ; round < a.stepKills || e.middle == 0 && ctx.Err() == nil; round++ {
		before, _ := os.Stat(e.file)
		for n := range 2 {
			name := fmt.Sprint(round, "/", n)
			if _, ok := call("task", map[string]any{
				"action": "submit", "name": name, "queueId": "steps", "agentId": "steps", "input": map[string]any{"task": name}, "maxAttempts": 1 + n,
			}); ok {
				acknowledged++
			}
		}
		enough := before.Size() + 10 + int64(random.IntN(60))
		for begin := time.Now(); time.Since(begin) < 3*time.Second && ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
			if now, err := os.Stat(e.file); err == nil && now.Size() > enough {
				break
			}
		}
		time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond)
		s.kill()
		c.web.CloseIdleConnections()
		if err := e.look(ctx); err != nil {
			return err
		}
		if s, err = p.start(ctx); err != nil {
			return fmt.Errorf("after %d kills: %w", round+1, err)
		}
		c = s.client()
		retry(call)
	}
	left := -1
	for begin := time.Now(); time.Since(begin) < 2*time.Minute && left != 0 && ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		again := retry(call)
		if list, ok := call("task", map[string]any{"action": "list", "status": []string{"pending", "queued", "running"}, "limit": 1}); ok {
			left = list.Total + again
		}
	}
	if left != 0 {
		r.bad(open, "%d of %d", left, acknowledged)
	}
	s.stop()
	if err := e.verify(ctx); err != nil {
		return err
	}
	if e.middle == 0 {
		return fmt.Errorf("no kill was in the middle of a task")
	}
	ran := 0
	for _, n := range e.frozen {
		ran += n
	}
	r.note("%d kills, of %d tasks %d times in the middle, %d finished steps, %d runs of them",
		round, acknowledged, e.middle, len(e.frozen), ran)
	return nil
}

// taskList holds the parts of a task.list result that retry and steps read.
type taskList struct {
	Total int
	Tasks []struct{ TaskID string }
}

// retry restarts the failed tasks and returns their number.
func retry(call func(tool string, arguments map[string]any) (content taskList, ok bool)) int {
	list, _ := call("task", map[string]any{"action": "list", "status": "failed", "limit": 100})
	for _, t := range list.Tasks {
		call("task", map[string]any{"action": "retry", "taskId": t.TaskID})
	}
	return len(list.Tasks)
}
