package upstream

import (
	"reflect"
	"slices"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/tools/config"
)

// Every setting, except the words after --, is a flag of add and of set, and flags have unique names.
func TestEverySettingIsAFlag(t *testing.T) {
	t.Parallel()
	for _, command := range []*cli.Command{addCommand(), setCommand()} {
		seen := map[string]bool{}
		for _, f := range command.Flags {
			for _, name := range f.Names() {
				if seen[name] {
					t.Errorf("%s has --%s twice", command.Name, name)
				}
				seen[name] = true
			}
		}
		for _, p := range config.UpstreamSettings() {
			if is := seen[settingFlag(p.Name)]; is == slices.Contains(programWords, p.Name) {
				t.Errorf("%s: --%s is a flag: %t", command.Name, settingFlag(p.Name), is)
			}
			if p.Values != nil && separators[p.Name] == "" {
				t.Errorf("%s has no separator between name and value", p.Name)
			}
		}
	}
}

// Flags are merged into maps and replace other settings. Settings without a flag stay unchanged.
func TestPut(t *testing.T) {
	t.Parallel()
	before := membersOf(config.Upstream{Command: "a", Args: []string{"b"}, Env: map[string]string{"A": "1"}, Include: []string{"x"}})
	after := put(before, map[string]any{"env": map[string]any{"B": "2"}, "include": []any{"y"}, "timeoutMs": 5}, []string{"c"})
	u, err := upstreamOf(after)
	want := config.Upstream{Command: "c", Args: []string{}, Env: map[string]string{"A": "1", "B": "2"}, Include: []string{"y"}, TimeoutMs: 5}
	if err != nil || !reflect.DeepEqual(u, want) {
		t.Errorf("it is %+v, %v", u, err)
	}
	if err := unset(after, "env.A"); err != nil {
		t.Error(err)
	}
	if err := unset(after, "timeout-ms"); err != nil {
		t.Error(err)
	}
	if u, _ := upstreamOf(after); len(u.Env) != 1 || u.TimeoutMs != 0 {
		t.Errorf("without these it is %+v", u)
	}
	if again, _ := upstreamOf(before); again.Command != "a" || len(again.Env) != 1 || again.Env["A"] != "1" {
		t.Errorf("what was there is changed: %+v", again)
	}
}

func TestMisfit(t *testing.T) {
	t.Parallel()
	pairs := map[string]string{"A": "b"}
	for i, u := range []config.Upstream{
		{}, {Command: "a", URL: "b"}, {Command: "a", Headers: pairs}, {Command: "a", Type: "sse"}, {URL: "a", Env: pairs},
		{URL: "a", Cwd: "b"}, {URL: "a", Type: "stdio"},
	} {
		if misfit("add", u) == nil {
			t.Errorf("%d: %+v is taken", i, u)
		}
	}
	for i, u := range []config.Upstream{{Command: "a", Env: pairs, Cwd: "b", Type: "stdio"}, {URL: "a", Headers: pairs, Type: "sse"}} {
		if err := misfit("add", u); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestHidden(t *testing.T) {
	t.Parallel()
	for value, want := range map[any]string{nil: notSet, "secret": "xxxxx", "a${B}": "xxxxx", "${B}": "${B}", "$B": "$B"} {
		if got := hide(value); got != want {
			t.Errorf("%v is shown as %s, want %s", value, got, want)
		}
	}
}

// Four calls run at a time: the fifth begins when one has ended.
func TestFourAtOnce(t *testing.T) {
	t.Parallel()
	began, end, done := make(chan int), make(chan bool), make(chan bool)
	go func() {
		servers.SomeAtOnce(5, func(i int) { began <- i; <-end })
		close(done)
	}()
	for range 4 {
		<-began
	}
	select {
	case i := <-began:
		t.Errorf("number %d is the fifth that runs", i)
	default:
	}
	end <- true
	<-began
	close(end)
	<-done
}
