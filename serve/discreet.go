package serve

import (
	"context"
	"log/slog"
	"strings"
)

// discreetHandler logs for mcp-go's transport. Everything except panics is logged at debug level:
// mcp-go logs disconnects and unexpected answers as errors, so that clients could flood the log.
// Session ids are dropped: with one, a reader of the log could act for the client.
type discreetHandler struct{ slog.Handler }

// Enabled implements [slog.Handler]. Handle decides by level.
func (h *discreetHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (h *discreetHandler) Handle(ctx context.Context, r slog.Record) error {
	level := slog.LevelDebug
	if strings.HasPrefix(r.Message, "panic") {
		level = r.Level
	}
	if !h.Handler.Enabled(ctx, level) {
		return nil
	}
	record := slog.NewRecord(r.Time, level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if !strings.HasPrefix(a.Key, "session") && !strings.Contains(a.Value.String(), "mcp-session-") {
			record.AddAttrs(a)
		}
		return true
	})
	return h.Handler.Handle(ctx, record)
}
