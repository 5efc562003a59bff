package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
)

// Every logged value reaches the client as JSON with the same content.
func TestLoggedValues(t *testing.T) {
	t.Parallel()
	var record func(*slog.Logger)
	s, _ := newServer(t, lazy.Lazy, toolfold.External{
		Name: "log", Description: "Log, then answer.", Category: "elsewhere", Effect: toolfold.Reads,
		Run: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			record(serve.Log(ctx))
			return json.RawMessage(`{"answered":true}`), nil
		},
	})
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log","arguments":{},` + strings.Replace(mcptest.ModernMeta,
		`"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"info",`, 1) + `}}` + "\n"
	for _, test := range []struct {
		why    string
		record func(*slog.Logger)
		want   string
	}{
		{"an error", func(l *slog.Logger) { l.Info("m", "err", errors.New("no room")) }, `"err":"no room"`},
		{"an error that is nil", func(l *slog.Logger) { l.Info("m", "err", error(nil)) }, `"err":null`},
		{"no number", func(l *slog.Logger) { l.Info("m", "n", math.NaN()) }, `"n":"NaN"`},
		{"a channel", func(l *slog.Logger) { l.Info("m", "c", (chan int)(nil)) }, `"c":"<nil>"`},
		{"a duration", func(l *slog.Logger) { l.Info("m", "took", 1500*time.Millisecond) }, `"took":"1.5s"`},
		{"a struct", func(l *slog.Logger) { l.Info("m", "at", struct{ X int }{1}) }, `"at":{"X":1}`},
		{"a group", func(l *slog.Logger) { l.Info("m", slog.Group("a", "b", 1, slog.Group("c", "d", 2))) }, `"a.b":1,"a.c.d":2`},
		{"a group without a name", func(l *slog.Logger) { l.Info("m", slog.Group("", "b", 1)) }, `"message":"m","b":1`},
		{"a group around both", func(l *slog.Logger) { l.WithGroup("a").With("b", 1).WithGroup("c").Info("m", "d", 2) },
			`"a.b":1,"a.c.d":2`},
		{"groups side by side", func(l *slog.Logger) { l.WithGroup("").With(slog.Group("a", "b", 1)).Info("m") }, `"a.b":1`},
		{"the name of the message", func(l *slog.Logger) { l.Info("m", "message", "another") }, `"message":"m","message-2":"another"`},
		{"a name twice", func(l *slog.Logger) { l.With("n", 1).Info("m", "n", 2) }, `"n":1,"n-2":2`},
		{"nothing", func(l *slog.Logger) { l.Info("m", slog.Attr{}) }, `"data":{"message":"m"}`},
	} {
		record = test.record
		var out strings.Builder
		if err := s.Stdio(t.Context(), strings.NewReader(line), &out); err != nil {
			t.Fatal(err)
		}
		line, _, answered := strings.Cut(out.String(), "\n")
		if !answered || !strings.Contains(line, test.want) ||
			!strings.Contains(line, "notifications/message") || !strings.Contains(out.String(), "answered") {
			t.Errorf("%s is said as %s, want %s", test.why, out.String(), test.want)
		}
	}
}
