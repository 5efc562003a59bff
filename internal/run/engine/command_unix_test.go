//go:build unix

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// TestMain also is the program that command providers run in these tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "child:") {
		os.Exit(playChild(strings.TrimPrefix(os.Args[1], "child:"), os.Args[2:]))
	}
	os.Exit(m.Run())
}

func playChild(role string, args []string) int {
	switch role {
	case "echo":
		input, _ := io.ReadAll(os.Stdin)
		dir, _ := os.Getwd()
		fmt.Printf("%q in %s: %s\n\n", args, filepath.Base(dir), input)
	case "silent":
	case "leak":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 600)+os.Getenv("TOOLFOLD_TEST_API_KEY")+strings.Repeat("y", 480))
		return 3
	case "fail":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 10_000)+"bad luck")
		return 3
	case "flood":
		for {
			if _, err := fmt.Print(strings.Repeat("x", 1000)); err != nil {
				return 1
			}
		}
	case "family", "leave":
		return playParent(role, args[0])
	case "sleep":
		time.Sleep(time.Hour)
	}
	return 0
}

// playParent starts a child of its own and writes the ids of both to a file.
func playParent(role, file string) int {
	cmd := exec.Command(os.Args[0], "child:sleep")
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		return 1
	}
	ids := fmt.Sprintf("%d %d", os.Getpid(), cmd.Process.Pid)
	if err := os.WriteFile(file+".new", []byte(ids), 0o600); err != nil || os.Rename(file+".new", file) != nil {
		return 1
	}
	if role == "family" {
		time.Sleep(time.Hour)
	}
	fmt.Println("done")
	return 0
}

func childCommand(args ...string) []any {
	argv := []any{os.Args[0]}
	for _, a := range args {
		argv = append(argv, a)
	}
	return argv
}

func commandProviders(t *testing.T, config map[string]any) *Providers {
	t.Helper()
	config["type"] = "command"
	return NewProviders(fixed(map[string]any{"providers": map[string]any{"cli": config}}), t.TempDir())
}

func fixed(settings map[string]any) func() (map[string]any, error) {
	return func() (map[string]any, error) { return settings, nil }
}

func ask(ctx context.Context, ps *Providers, name string, p callctx.Prompt) (callctx.Completion, error) {
	provider, err := ps.pick(ctx, name)
	if err != nil {
		return callctx.Completion{}, err
	}
	return provider.complete(ctx, p)
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args   []string
		config map[string]any
		prompt callctx.Prompt
		want   string
	}{
		"prompt": {nil, nil, callctx.Prompt{Text: "hello $HOME `id` \"x\"\n"}, "[] in DIR: hello $HOME `id` \"x\""},
		"system": {nil, nil, callctx.Prompt{Text: "hello", System: "be kind"}, "[] in DIR: be kind\n\nhello"},
		"filled": {[]string{"-m={model}", "{system}", "{maxTokens}"}, map[string]any{"model": "m1", "maxTokens": 5},
			callctx.Prompt{Text: "hi", System: "be kind; rm -rf"}, `["-m=m1" "be kind; rm -rf" "5"] in DIR: hi`},
		"by step": {[]string{"-m={model}"}, map[string]any{"model": "m1"}, callctx.Prompt{Text: "hi", Model: "m2"}, `["-m=m2"] in DIR: hi`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := map[string]any{"command": childCommand(append([]string{"child:echo"}, test.args...)...)}
			for k, v := range test.config {
				config[k] = v
			}
			ps := commandProviders(t, config)
			done, err := ask(t.Context(), ps, "", test.prompt)
			want := strings.ReplaceAll(test.want, "DIR", filepath.Base(ps.dir))
			if err != nil || done.Text != want {
				t.Errorf("%q, %v; want %q", done.Text, err, want)
			}
		})
	}
}

func TestCommandThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config map[string]any
		prompt callctx.Prompt
		code   string
		want   string
	}{
		"exit": {map[string]any{"command": childCommand("child:fail")}, callctx.Prompt{Text: "x"}, StepFailed,
			"ended with exit status 3; it printed: …xxx"},
		"tail":  {map[string]any{"command": childCommand("child:fail")}, callctx.Prompt{Text: "x"}, StepFailed, "bad luck"},
		"flood": {map[string]any{"command": childCommand("child:flood")}, callctx.Prompt{Text: "x"}, StepFailed, "the answer is too long"},
		"small flood": {map[string]any{"command": childCommand("child:echo"), "maxOutputBytes": 3}, callctx.Prompt{Text: "x"}, StepFailed,
			"the answer is too long"},
		"missing": {map[string]any{"command": []any{"/nowhere/toolfold-no-such-program"}}, callctx.Prompt{Text: "x"}, ProviderUnavailable,
			"toolfold-no-such-program cannot be started"},
		"time": {map[string]any{"command": childCommand("child:sleep"), "timeoutMs": 50}, callctx.Prompt{Text: "x"}, TimedOut,
			"took longer than it may"},
		"no model": {map[string]any{"command": childCommand("child:echo", "{model}")}, callctx.Prompt{Text: "x"}, ProviderUnavailable,
			"{model} has no value"},
		"no place": {map[string]any{"command": childCommand("child:echo")}, callctx.Prompt{Text: "x", Model: "m"}, StepFailed,
			"its command takes no model"},
		"no limit": {map[string]any{"command": childCommand("child:echo")}, callctx.Prompt{Text: "x", MaxTokens: 9}, StepFailed,
			"its command takes no maxTokens"},
		"option": {map[string]any{"command": childCommand("child:echo", "{model}")}, callctx.Prompt{Text: "x", Model: "--danger"}, StepFailed,
			"begins with a dash"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done, err := ask(t.Context(), commandProviders(t, test.config), "cli", test.prompt)
			var f *Failure
			if !errors.As(err, &f) || f.Code != test.code || !strings.Contains(f.Message, test.want) {
				t.Fatalf("%.50q, %v; want %s and %q", done.Text, err, test.code, test.want)
			}
			if strings.Contains(f.Message, "/nowhere") || len(f.Message) > tailOfErrors+200 {
				t.Errorf("the message tells too much: %s", f.Message)
			}
		})
	}
}

// A cancelled run ends the command and what the command started.
func TestCancelledCommandLeavesNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	r := &Runner{Providers: commandProviders(t, map[string]any{"command": childCommand("child:family", file)})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan Result)
	go func() {
		done <- r.Run(ctx, Job{Kind: WorkflowJob, ID: "w", Program: compiled(t, `
- {stepId: p, type: parallel, config: {steps: [{stepId: a, type: prompt, config: {prompt: go}}]}}`)})
	}()
	started := testwait.Processes(t, file)
	for _, pid := range started {
		if !testwait.Alive(pid) {
			t.Errorf("process %d does not run", pid)
		}
	}
	cancel()
	if r := testwait.Receive(t, "the run ends", done); r.Failure == nil || r.Failure.Code != Cancelled {
		t.Errorf("%+v", r.Failure)
	}
	for _, pid := range started {
		testwait.Until(t, fmt.Sprintf("process %d has ended", pid), func() bool { return !testwait.Alive(pid) })
	}
}

// A command that succeeds and leaves a process behind has answered; the
// process ends.
func TestCommandThatLeavesSomething(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	done, err := ask(t.Context(), commandProviders(t, map[string]any{"command": childCommand("child:leave", file)}), "",
		callctx.Prompt{Text: "x"})
	if err != nil || done.Text != "done" {
		t.Errorf("%q, %v", done.Text, err)
	}
	left := testwait.Processes(t, file)[1]
	testwait.Until(t, "what it left has ended", func() bool { return !testwait.Alive(left) })
}

// What a command says of its failure is quoted without the values of secret
// variables, also where the quote begins within one.
func TestCommandThatLeaksSecrets(t *testing.T) {
	const secret = "sk-0123456789-0123456789-0123456789"
	t.Setenv("TOOLFOLD_TEST_API_KEY", secret)
	_, err := ask(t.Context(), commandProviders(t, map[string]any{"command": childCommand("child:leak")}), "", callctx.Prompt{Text: "x"})
	if err == nil || strings.Contains(err.Error(), "0123456789") || !strings.Contains(err.Error(), "secret]yyy") ||
		len(err.Error()) > tailOfErrors+200 {
		t.Error(err)
	}
}

func TestCommandWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	_, err := ask(t.Context(), commandProviders(t, map[string]any{"command": childCommand("child:silent")}), "", callctx.Prompt{Text: "x"})
	if err == nil || !strings.Contains(err.Error(), `provider "cli": the answer is empty`) {
		t.Error(err)
	}
}

// No argument can hold a NUL: the refusal says so in words, without a path.
func TestCommandWithNUL(t *testing.T) {
	t.Parallel()
	ps := commandProviders(t, map[string]any{"command": childCommand("child:echo", "{system}")})
	_, err := ask(t.Context(), ps, "", callctx.Prompt{Text: "x", System: "a\x00b"})
	var f *Failure
	if !errors.As(err, &f) || !f.final || !strings.Contains(f.Message, "the system prompt has a NUL character") ||
		strings.Contains(f.Message, "/") {
		t.Errorf("%+v", f)
	}
	if done, err := ask(t.Context(), ps, "", callctx.Prompt{Text: "a\x00b", System: "s"}); err != nil ||
		!strings.Contains(done.Text, "a\x00b") {
		t.Errorf("in the prompt, which is input: %q, %v", done.Text, err)
	}
}
