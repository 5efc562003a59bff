package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/surface"
)

// A clock change ends nothing early, keeps nothing forever and makes no time negative.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	at := func(jump time.Duration) { b.Jump(jump) }
	call := func(tool, format string, args ...any) string {
		t.Helper()
		answer := b.Runner.Call(t.Context(), tool, json.RawMessage(fmt.Sprintf(format, args...)))
		return string(answer.Content)
	}
	expect := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("answered %s, want %s", got, want)
		}
	}

	expect(call("memory", `{"action":"store","key":"k","value":{"is":"here"},"ttlMs":60000}`), `"key":"k"`)
	for _, jump := range []time.Duration{-time.Hour, 59 * time.Second} {
		at(jump)
		expect(call("memory", `{"action":"get","key":"k"}`), `"is":"here"`)
		expect(call("memory", `{"action":"list","namespace":"default"}`), `"key":"k"`)
	}
	at(61 * time.Second)
	expect(call("memory", `{"action":"get","key":"k"}`), `"found":false`)

	for jump, want := range map[time.Duration]string{-time.Hour: `"durationMs":0`, time.Hour: `"durationMs":3600000`} {
		at(0)
		var started struct{ TimerID string }
		if text := call("timer", `{"action":"start","metricName":"m"}`); json.Unmarshal([]byte(text), &started) != nil || started.TimerID == "" {
			t.Fatalf("started %s", text)
		}
		at(jump)
		expect(call("timer", `{"action":"stop","timerId":%q}`, started.TimerID), want)
	}

	at(0)
	var session struct{ SessionID string }
	created := call("session", `{"action":"create","initiator":"a test","task":"t"}`)
	if json.Unmarshal([]byte(created), &session) != nil || session.SessionID == "" {
		t.Fatalf("created %s", created)
	}
	at(-time.Hour)
	expect(call("session", `{"action":"status","sessionId":%q}`, session.SessionID), `"status":"active"`)
	expect(call("session", `{"action":"list"}`), session.SessionID)
}
