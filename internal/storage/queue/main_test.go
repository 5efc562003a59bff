package queue_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/tools/task"
)

// These variables make the test program a process that works a queue until its standard input is
// closed.
const (
	urlVariable   = "TOOLFOLD_TEST_WORKER"       // URL of the store
	logVariable   = "TOOLFOLD_TEST_WORKER_LOG"   // the diary's file
	leaseVariable = "TOOLFOLD_TEST_WORKER_LEASE" // a duration

	// submitVariable makes it a process that submits tasks until it is killed.
	submitVariable = "TOOLFOLD_TEST_SUBMITTER" // URL of the store
)

func TestMain(m *testing.M) {
	if url := os.Getenv(urlVariable); url != "" {
		if err := workForever(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if url := os.Getenv(submitVariable); url != "" {
		fmt.Fprintln(os.Stderr, submitForever(url))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func workForever(url string) error {
	lease, err := time.ParseDuration(os.Getenv(leaseVariable))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(os.Getenv(logVariable), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	store := storage.Lazy(url)
	w := queue.New(openerOf(store), diary{file}, queue.Options{
		Workspace: place, Lease: lease, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err := w.Work(ctx); err != nil {
		return err
	}
	return store.Close()
}

// submitForever submits tasks and prints the id of each accepted one. It returns only an error.
func submitForever(url string) error {
	db, err := storage.Open(context.Background(), url)
	if err != nil {
		return err
	}
	tasks := task.New(task.Options{Store: db.Task(), Caller: &calls{}, Names: &calls{}, Now: time.Now, NewID: uuid.NewString, Workspace: place,
		MaxInterruptions: 5})
	for {
		out, err := tasks.Submit(context.Background(), task.SubmitIn{
			Name: "accepted", Type: task.Sequential, Input: json.RawMessage(`{"tool":"accepted"}`),
		})
		if err != nil {
			return err
		}
		fmt.Println(out.TaskID)
	}
}

func openerOf(store *storage.LazyDB) queue.Opener {
	return func(ctx context.Context) (queue.Ledger, *queue.Jobs, error) {
		db, err := store.Open(ctx)
		if err != nil {
			return nil, nil, err
		}
		return db.Work()
	}
}

// diary is a caller whose calls record when they begin and end.
type diary struct{ file *os.File }

// note is one line of the diary.
type note struct {
	what, task string
	pid        int
	at         time.Time
}

func (d diary) write(what, task string) {
	fmt.Fprintf(d.file, "%s %s %d %d\n", what, task, os.Getpid(), time.Now().UnixMicro())
}

// untilReleased is the duration of a task that runs until its release.
const untilReleased = -1

// released returns the file whose existence lets a held task end.
func released(log, name string) string { return log + "." + name }

func release(t *testing.T, log, name string) {
	t.Helper()
	if err := os.WriteFile(released(log, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// held waits until a task is released or its worker stops it.
func (d diary) held(ctx context.Context, name string) {
	for ctx.Err() == nil {
		if _, err := os.Stat(released(d.file.Name(), name)); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond) // poll slowly: this is the worker's process
	}
}

// Call takes {"task": NAME, "ms": DURATION}.
func (d diary) Call(ctx context.Context, _ string, args json.RawMessage) toolfold.Answer {
	var in struct {
		Task string `json:"task"`
		Ms   int    `json:"ms"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return toolfold.Errorf(toolfold.Internal, "%v", err).Answer()
	}
	d.write("begin", in.Task)
	if in.Ms == untilReleased {
		d.held(ctx, in.Task)
	}
	select {
	case <-time.After(time.Duration(in.Ms) * time.Millisecond):
	case <-ctx.Done():
		d.write("stop", in.Task)
		return toolfold.Errorf("STOPPED", "%v", context.Cause(ctx)).Answer()
	}
	d.write("end", in.Task)
	return toolfold.Answer{Content: json.RawMessage(`{"done":true}`)}
}

// Lookup returns an action that may run twice.
func (diary) Lookup(name string) []*entry.Entry {
	return []*entry.Entry{{Tool: name, Action: &toolfold.Action{Name: name, Effect: toolfold.Sets, Family: &toolfold.Family{Name: "test"}}}}
}

func (diary) Nearest(string) string { return "" }

func readDiary(t *testing.T, path string) (notes []note) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		parts := strings.Fields(lines.Text())
		if len(parts) != 4 {
			t.Fatalf("a line of the diary is broken: %q", lines.Text())
		}
		pid, _ := strconv.Atoi(parts[2])
		micros, _ := strconv.ParseInt(parts[3], 10, 64)
		notes = append(notes, note{parts[0], parts[1], pid, time.UnixMicro(micros)})
	}
	return notes
}

// process is a worker process.
type process struct {
	*exec.Cmd
	input io.Closer
}

func startWorker(t *testing.T, url, log string, lease time.Duration) *process {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), urlVariable+"="+url, logVariable+"="+log, leaseVariable+"="+lease.String())
	child.Stderr = os.Stderr
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{child, input}
	t.Cleanup(func() { p.kill() })
	return p
}

// kill ends the process like kill -9, and waits for it.
func (p *process) kill() {
	p.Process.Kill()
	p.Wait()
}

// stop asks the process to end.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.input.Close()
	if err := p.Wait(); err != nil {
		t.Errorf("a worker ended with %v", err)
	}
}
