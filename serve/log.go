package serve

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/internal/carried"
	"github.com/toolfold/toolfold/internal/client"
	"github.com/toolfold/toolfold/internal/ordered"
)

// Log returns a logger whose records go to the client of the call that ctx belongs
// to, where that asked for records of their level. Other calls' records go nowhere.
// What it is given reaches the client's user: no path, query or secret.
func Log(ctx context.Context) *slog.Logger {
	r := requestOf(ctx)
	if r == nil || r.terms == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(&clientHandler{request: r})
}

// clientHandler sends records to the client of a request.
type clientHandler struct {
	request *request
	group   string
	fixed   []slog.Attr
}

// logLevel returns the protocol's word for a level.
func logLevel(level slog.Level) mcp.LoggingLevel {
	switch {
	case level >= slog.LevelError:
		return mcp.LoggingLevelError
	case level >= slog.LevelWarn:
		return mcp.LoggingLevelWarning
	case level >= slog.LevelInfo:
		return mcp.LoggingLevelInfo
	}
	return mcp.LoggingLevelDebug
}

// wantedLog returns the least level of the log messages that the client wants; empty for
// none. From 2026-07-28 on a request says so, before that a session.
func (r *request) wantedLog() mcp.LoggingLevel {
	if session, ok := r.session.(server.SessionWithLogging); ok && !r.modern() {
		return session.GetLogLevel()
	}
	return r.terms.info.LogLevel
}

// withLog returns a context whose calls of other servers pass on what these log.
func (r *request) withLog(ctx context.Context) context.Context {
	wanted := r.wantedLog()
	if wanted == "" {
		return ctx
	}
	return carried.With(ctx, client.Log{Level: string(wanted), Tell: func(params json.RawMessage) {
		var said struct{ Level mcp.LoggingLevel }
		if json.Unmarshal(params, &said) == nil && said.Level.ShouldSendTo(wanted) {
			r.notify(string(mcp.MethodNotificationMessage), params)
		}
	}})
}

// Enabled implements [slog.Handler].
func (h *clientHandler) Enabled(_ context.Context, level slog.Level) bool {
	wanted := h.request.wantedLog()
	return wanted != "" && logLevel(level).ShouldSendTo(wanted)
}

// Handle implements [slog.Handler]. The record goes out before the answer of the request.
func (h *clientHandler) Handle(_ context.Context, record slog.Record) error {
	data := ordered.Map{{Key: "message", Value: record.Message}}
	add := func(a slog.Attr) bool {
		data.Set(h.group+a.Key, a.Value.Resolve().Any())
		return true
	}
	for _, a := range h.fixed {
		data.Set(a.Key, a.Value.Resolve().Any())
	}
	record.Attrs(add)
	h.request.notify(string(mcp.MethodNotificationMessage), ordered.Map{
		{Key: "level", Value: logLevel(record.Level)}, {Key: "data", Value: data},
	})
	return nil
}

// WithAttrs implements [slog.Handler].
func (h *clientHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	for _, a := range attrs {
		with.fixed = append(with.fixed[:len(with.fixed):len(with.fixed)], slog.Attr{Key: h.group + a.Key, Value: a.Value})
	}
	return &with
}

// WithGroup implements [slog.Handler].
func (h *clientHandler) WithGroup(name string) slog.Handler {
	with := *h
	with.group += name + "."
	return &with
}
