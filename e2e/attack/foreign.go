package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	together   = 10   // broken servers per pair of sessions
	trials     = 4    // pairs at a time
	mostMemory = 1024 // MiB, the peak of a serve process plus the peak of the process that shares servers
	mostFiles  = 200  // descriptors of each process
)

// foreignFaults are the kinds of findings.
var foreignFaults = []string{
	"no message", "messages not in UTF-8", "answers to nothing", "answers of other servers", "forged messages", "forged _meta",
	"unknown members", "invalid results", "invalid errors", "internal errors", "riddles", "panics", "progress of nothing",
	"healthy calls spoilt", "sound calls of broken servers spoilt", "serve that does not end", "serve that does not start again",
	"ends with an error", "processes left", "memory over the bound", "files over the bound",
}

// finding is a fault. of is the server that caused it, nil if unknown.
type finding struct {
	kind string
	of   *foreigner
	text string
}

// trial is a home with some broken servers, two healthy ones, and the sessions that use them.
type trial struct {
	servers []*foreigner
	home    *place
	report  *report // of its HTTP server
	run     string  // folder of sockets; all processes of the trial have it in their environment

	mu    sync.Mutex
	found []finding
	log   []string
}

// foreign lets sessions share servers that send broken messages. It checks that clients receive
// only valid messages and the right answers of healthy servers.
func foreign(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	r.most = len(breakages)
	numbers := make(chan uint64)
	go func() {
		defer close(numbers)
		for n := uint64(0); n < uint64(a.foreigners) && ctx.Err() == nil; n += together {
			numbers <- a.seed + n
		}
	}()
	var failed error
	each(trials, func(int) {
		for first := range numbers {
			var servers []*foreigner
			for n := first; n < min(first+together, a.seed+uint64(a.foreigners)); n++ {
				servers = append(servers, newForeigner(n))
			}
			if err := p.tryAll(ctx, servers); err != nil {
				failed = err
			}
		}
	})
	r.note("%d servers with one to three of %d breakages", a.foreigners, len(breakages))
	return failed
}

// tryAll tries servers together, and one by one if it is not known which one caused a fault.
func (p *place) tryAll(ctx context.Context, servers []*foreigner) error {
	found, err := p.try(ctx, servers)
	if err != nil {
		return err
	}
	var unknown []finding
	for _, f := range found {
		if f.of == nil && len(servers) > 1 {
			unknown = append(unknown, f)
			continue
		}
		if f.of == nil {
			f.of = servers[0]
		}
		p.tell(f)
	}
	if len(unknown) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, server := range servers {
		again, err := p.try(ctx, []*foreigner{newForeigner(server.number)})
		if err != nil {
			return err
		}
		for _, f := range again {
			seen[f.kind] = true
			if slices.ContainsFunc(unknown, func(u finding) bool { return u.kind == f.kind }) {
				f.of = server
				p.tell(f)
			}
		}
	}
	for _, u := range unknown {
		if seen[u.kind] {
			continue
		}
		p.report.bad(u.kind, "servers %d to %d together: %s", servers[0].number, servers[len(servers)-1].number, u.text)
	}
	return nil
}

func (p *place) tell(f finding) {
	p.report.bad(f.kind, "-seed %d: %s: %s", f.of.number, f.of, f.text)
}

func (t *trial) fault(kind string, of *foreigner, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.found {
		if f.kind == kind && f.of == of {
			return
		}
	}
	t.found = append(t.found, finding{kind, of, fmt.Sprintf(format, args...)})
}

func (t *trial) say(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = append(t.log, shorten(line, 300))
}

// numbered returns the trial's server with this number, or nil.
func (t *trial) numbered(number uint64) *foreigner {
	for _, f := range t.servers {
		if f.number == number {
			return f
		}
	}
	return nil
}

// ownerOf returns the server whose secret a text contains.
func (t *trial) ownerOf(line []byte) *foreigner {
	line = bytes.ReplaceAll(line, []byte("\ufffd"), nil) // it replaced invalid UTF-8
	found := secretIn().FindSubmatch(line)
	if found == nil {
		found = actionIn().FindSubmatch(line)
	}
	if found == nil {
		return nil
	}
	number, _ := strconv.ParseUint(string(found[1]), 10, 64)
	return t.numbered(number)
}

// try runs one trial.
func (p *place) try(ctx context.Context, servers []*foreigner) ([]finding, error) {
	t := &trial{servers: servers}
	run, err := os.MkdirTemp("", "tf-") // socket paths must be short
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(run)
	dir, err := os.MkdirTemp(p.dir, "trial-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	t.report = &report{counts: map[string]int{}, samples: map[string][]string{}}
	t.run, t.home = run, &place{attack: p.attack, report: t.report, dir: dir, binary: p.binary, workspace: filepath.Join(dir, "workspace"),
		store: "sqlite://" + filepath.Join(dir, "store.db"), settings: []string{"XDG_RUNTIME_DIR=" + run, "TOOLFOLD_TIER=none"}}
	healthy, unlisten, err := t.furnish()
	if err != nil {
		return nil, err
	}
	defer unlisten()
	if err := t.sessions(ctx, healthy); err != nil {
		return nil, err
	}
	t.again(ctx, healthy)
	t.leftovers()
	for kind, samples := range t.report.samples {
		t.fault(kind, t.ownerOf([]byte(samples[0])), "%s", samples[0])
	}
	return t.found, nil
}

// furnish writes the settings and starts the servers that have a URL.
func (t *trial) furnish() (healthy []*foreigner, close func(), err error) {
	good, well := newForeigner(0), newForeigner(0)
	well.name, well.transport = "well", onJSON
	healthy = []*foreigner{good, well}
	var closers []func()
	close = func() {
		for _, c := range closers {
			c()
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, close, err
	}
	upstreams := map[string]any{}
	for _, f := range slices.Concat(healthy, t.servers) {
		entry := map[string]any{}
		if f.number != 0 {
			entry["timeoutMs"] = f.timeLimit()
		}
		switch f.transport {
		case onStdio:
			entry["command"], entry["env"] = self, map[string]string{foreignNumber: strconv.FormatUint(f.number, 10)}
		default:
			url, stop, err := f.listen()
			if err != nil {
				return nil, close, err
			}
			closers = append(closers, stop)
			entry["url"] = url
			if f.transport == onSSE {
				entry["type"] = "sse"
			}
		}
		upstreams[f.name] = entry
	}
	settings := filepath.Join(t.home.dir, "config", "toolfold")
	if err := errors.Join(os.MkdirAll(settings, 0o700), os.MkdirAll(t.home.workspace, 0o700)); err != nil {
		return nil, close, err
	}
	text, err := json.Marshal(map[string]any{"upstreams": upstreams})
	if err != nil {
		return nil, close, err
	}
	return healthy, close, os.WriteFile(filepath.Join(settings, "config.json"), text, 0o600)
}

// sessions lets two sessions use all servers at once.
func (t *trial) sessions(ctx context.Context, healthy []*foreigner) error {
	kind := t.servers[0].number / together
	flags := [][]string{nil, {"--fold=none"}}[kind%2]
	one, err := t.startStdio(ctx, "stdio "+legacyEra, false, flags...)
	if err != nil {
		return err
	}
	defer one.stop()
	if kind%4 < 2 { // otherwise both sessions begin with servers that were never asked
		one.settle(ctx, t.servers)
	}
	var two *witness
	switch kind % 3 {
	case 0:
		two, err = t.startStdio(ctx, "stdio "+modernEra, true, [][]string{{"--fold=none"}, nil}[kind%2]...)
	case 1:
		two, err = t.startHTTP(ctx, "HTTP "+modernEra, true)
	case 2:
		two, err = t.startHTTP(ctx, "HTTP "+legacyEra, false)
	}
	if err != nil {
		return err
	}
	defer two.stop()
	witnesses := []*witness{one, two}
	for _, w := range witnesses {
		w.settle(ctx, t.servers)
	}
	var plans, others sync.WaitGroup
	over := make(chan struct{})
	for _, w := range witnesses {
		for _, f := range healthy {
			others.Go(func() { w.useHealthy(ctx, f, over) })
		}
		for _, f := range t.servers {
			plans.Go(func() { w.use(ctx, f) })
			plans.Go(func() { w.useSound(ctx, f) })
		}
	}
	plans.Wait()
	close(over)
	others.Wait()
	for _, w := range witnesses {
		_, _ = w.request(ctx, nil, "tools/call", map[string]any{"name": "tools", "arguments": map[string]any{"action": "list"}})
	}
	shared := 0
	for _, pid := range t.processes("share") {
		shared += t.peak("the process that shares servers", pid)
	}
	for _, w := range witnesses {
		if peak := t.peak(w.name, w.pid()); peak+shared > mostMemory {
			t.fault("memory over the bound", nil, "%s had %d MiB, and the process that shares servers %d, more than %d",
				w.name, peak, shared, mostMemory)
		}
	}
	return nil
}

// settle waits until the servers are listed. For servers that may never be, it waits a limited
// time.
func (w *witness) settle(ctx context.Context, servers []*foreigner) {
	const enough, much = 3 * time.Second, 20 * time.Second
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		names := w.names(ctx, "tools/list", "tools")
		waits := slices.ContainsFunc(servers, func(f *foreigner) bool {
			missing, took := len(of(f, names)) == 0, time.Since(begin)
			switch {
			case f.cost < everything && missing && took > hangTime:
				w.fault("sound calls of broken servers spoilt", f, "%s was not listed in %s", w.name, hangTime)
				return false
			case f.cost < everything:
				return missing
			case f.broken[0].heavy:
				return missing && took < much
			}
			return missing && took < enough
		})
		select {
		case <-w.broken:
			return
		default:
		}
		if !waits {
			return
		}
	}
}

// names returns the names of all entries of a list.
func (w *witness) names(ctx context.Context, method, member string) []string {
	var names []string
	params := map[string]any{}
	for range 40 {
		got, err := w.request(ctx, nil, method, params)
		if err != nil || got.result == nil {
			return names
		}
		var entries []struct{ Name, URI string }
		_ = json.Unmarshal(got.result[member], &entries)
		for _, entry := range entries {
			names = append(names, entry.Name)
			if entry.URI != "" {
				names[len(names)-1] = entry.URI
			}
		}
		if got.result["nextCursor"] == nil {
			break
		}
		params = map[string]any{"cursor": text(got.result["nextCursor"])}
	}
	return names
}

// of returns the names that belong to a server.
func of(f *foreigner, names []string) []string {
	var own []string
	for _, name := range names {
		begins := name == f.name || strings.HasPrefix(name, f.name+"_") || strings.HasPrefix(name, f.name+"-")
		if begins || strings.Contains(name, "/"+f.name+"/") {
			own = append(own, name)
		}
	}
	return own
}

// useHealthy calls a healthy server until over is closed. It must answer as if it were alone.
func (w *witness) useHealthy(ctx context.Context, f *foreigner, over <-chan struct{}) {
	for n := 0; ; n++ {
		arguments := fmt.Sprintf(`{"a":"%s %d"}`, w.name, n)
		want := encode([]any{map[string]any{"type": "text", "text": f.mark + " " + arguments}})
		got, err := w.request(ctx, f, "tools/call", map[string]any{"name": f.name + ".alpha", "arguments": json.RawMessage(arguments)})
		switch {
		case errors.Is(err, errBroken):
			return
		case err != nil:
			w.fault("healthy calls spoilt", nil, "%s: %s: %v", w.name, f.name, err)
			return
		case got.result == nil || !bytes.Equal(got.result["content"], []byte(want)):
			w.fault("healthy calls spoilt", nil, "%s: %s answered %s %s, want %s", w.name, f.name, got.failed, asJSON(got.result), want)
			return
		}
		select {
		case <-over:
			if n >= 3 {
				return
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// useSound calls a working tool of a broken server. It must answer as if nothing were broken. If
// another tool of the server hangs, its time limit is short, and a slow machine may exceed it.
func (w *witness) useSound(ctx context.Context, f *foreigner) {
	if f.cost == everything {
		return
	}
	for n, begin := 0, time.Now(); n < 8; n++ {
		arguments := fmt.Sprintf(`{"a":"%s","b":"%d"}`, w.name, n)
		want := encode([]any{map[string]any{"type": "text", "text": f.mark + " " + arguments}})
		got, err := w.request(ctx, f, "tools/call", map[string]any{"name": f.name + ".alpha", "arguments": json.RawMessage(arguments)})
		switch {
		case err != nil:
			return
		case bytes.Equal(got.result["content"], []byte(want)):
		case f.cost == gammaAlone && bytes.Contains(got.failure(), []byte("TIMEOUT")) && time.Since(begin) < hangTime:
			n--
		default:
			w.fault("sound calls of broken servers spoilt", f, "%s: call %d answered %s %s", w.name, n, got.failed, asJSON(got.result))
			return
		}
	}
}

// use sends a broken server every kind of request, with right and wrong arguments.
func (w *witness) use(ctx context.Context, f *foreigner) {
	type ask struct {
		method string
		params map[string]any
	}
	var plan []ask
	call := func(name string, arguments ...string) {
		for _, text := range arguments {
			plan = append(plan, ask{"tools/call", map[string]any{"name": name, "arguments": json.RawMessage(text)}})
		}
	}
	all := []string{`{}`, `{"a":"x"}`, `{"a":"x","b":"y"}`, `{"a":5,"zz":[]}`}
	call(f.name+".alpha", all...)
	call(f.name+".beta", all[:2]...)
	call(f.name+".gamma", `{"a":null,"b":["x"]}`)
	for i := range 4 {
		call(fmt.Sprintf("%s.schema%d", f.name, i), all...)
	}
	for i, name := range of(f, w.names(ctx, "tools/list", "tools")) {
		if i < 8 {
			call(name, `{"action":"alpha"}`, `{"action":"beta","params":{"a":"x"}}`, `{"a":"x"}`)
		}
	}
	prompts := append(of(f, w.names(ctx, "prompts/list", "prompts")), f.name+"-ask")
	for _, name := range prompts[:min(len(prompts), 4)] {
		plan = append(plan, ask{"prompts/get", map[string]any{"name": name, "arguments": map[string]any{"a": "x"}}})
	}
	uris := append(of(f, w.names(ctx, "resources/list", "resources")), "toolfold://upstream/"+f.name+"/"+f.name+"://one")
	for _, uri := range uris[:min(len(uris), 4)] {
		plan = append(plan, ask{"resources/read", map[string]any{"uri": uri}})
	}
	plan = append(plan, ask{"completion/complete", map[string]any{
		"ref": map[string]any{"type": "ref/prompt", "name": f.name + "-ask"}, "argument": map[string]any{"name": "a", "value": "x"}}})
	slots := make(chan struct{}, 6)
	gone := make(chan struct{})
	var once sync.Once
	var running sync.WaitGroup
	for i, next := range plan {
		select {
		case <-gone:
			continue
		case slots <- struct{}{}:
		}
		do := func() {
			defer func() { <-slots }()
			if err := w.make(ctx, f, next.method, next.params); err != nil {
				once.Do(func() { close(gone) })
			}
		}
		if i == 0 { // alone, so that it can ask
			do()
		} else {
			running.Go(do)
		}
	}
	running.Wait()
}

// make sends a request to a broken server and answers its first question.
func (w *witness) make(ctx context.Context, f *foreigner, method string, params map[string]any) error {
	got, err := w.request(ctx, f, method, params)
	if err == nil && text(got.result["resultType"]) == "input_required" {
		params["requestState"] = got.result["requestState"]
		answers, questions := map[string]any{}, map[string]json.RawMessage{}
		_ = json.Unmarshal(got.result["inputRequests"], &questions)
		for key := range questions {
			answers[key] = map[string]any{"action": "decline"}
		}
		params["inputResponses"] = answers
		_, err = w.request(ctx, f, method, params)
	}
	if errors.Is(err, errHang) {
		w.fault("hangs", f, "%s: %s %s", w.name, method, asJSON(params))
	} else if err != nil && !errors.Is(err, errBroken) {
		w.fault("healthy calls spoilt", nil, "%s: %v", w.name, err)
	}
	return err
}

// again starts a server in the state that the other sessions left.
func (t *trial) again(ctx context.Context, healthy []*foreigner) {
	w, err := t.startStdio(ctx, "stdio once more", false)
	if err != nil {
		t.fault("serve that does not start again", nil, "%v; it printed: %s", err, strings.Join(t.log[max(0, len(t.log)-2):], " / "))
		if w == nil {
			return
		}
	}
	defer w.stop()
	if err == nil {
		over := make(chan struct{})
		close(over)
		for _, f := range healthy {
			w.useHealthy(ctx, f, over)
		}
		_ = w.names(ctx, "tools/list", "tools")
	}
}

// peak returns the peak memory of a process in MiB and checks its open files.
func (t *trial) peak(name string, pid int) int {
	if files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); len(files) > mostFiles {
		t.fault("files over the bound", nil, "%s has %d open, more than %d", name, len(files), mostFiles)
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kib := 0
	_, _ = fmt.Sscan(after, &kib)
	return kib >> 10
}

// processes returns the trial's processes whose command line contains word.
func (t *trial) processes(word string) []int {
	var pids []int
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		environ, _ := os.ReadFile(path)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		isTrial := bytes.Contains(environ, []byte(t.run)) || bytes.Contains(environ, []byte(t.home.dir+"\x00"))
		if isTrial && len(line) > 0 && bytes.Contains(line, []byte(word)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// leftovers waits until no process of the trial is left.
func (t *trial) leftovers() {
	for end := time.Now().Add(hangTime); ; time.Sleep(50 * time.Millisecond) {
		left := t.processes("")
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", left[0]))
			t.fault("processes left", nil, "%d, such as %q", len(left), line)
			for _, pid := range left {
				if process, err := os.FindProcess(pid); err == nil {
					_ = process.Kill()
				}
			}
			return
		}
	}
}
