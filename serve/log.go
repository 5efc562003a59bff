package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Log returns a logger that sends records to the client of the call in ctx, if the client asked for
// records of their level. Outside of a call, records are dropped. The client's user reads them: log
// no paths, queries or secrets.
func Log(ctx context.Context) *slog.Logger {
	r := requestOf(ctx)
	if r == nil || r.admission == nil {
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

// logLevel returns the protocol's name of a level.
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

// logLevel returns the least level of log messages that the client has set; empty = no messages.
// From 2026-07-28 on it is set by request, before that by session.
func (r *request) logLevel() mcp.LoggingLevel {
	if session, ok := r.session.(server.SessionWithLogging); ok && !r.modern() {
		return session.GetLogLevel()
	}
	return r.admission.info.LogLevel
}

// withLog returns a context in which calls pass on the log messages of other servers.
func (r *request) withLog(ctx context.Context) context.Context {
	level := r.logLevel()
	if level == "" {
		return ctx
	}
	return callctx.With(ctx, callctx.Log{Level: string(level), Tell: func(params json.RawMessage) {
		var meta struct{ Level mcp.LoggingLevel }
		_ = json.Unmarshal(params, &meta) // messages without a level are dropped
		r.deliver(func(r *request) bool {
			return !meta.Level.ShouldSendTo(r.logLevel()) || r.notify(string(mcp.MethodNotificationMessage), params)
		})
	}})
}

// Enabled implements [slog.Handler].
func (h *clientHandler) Enabled(_ context.Context, level slog.Level) bool {
	least := h.request.newest().logLevel()
	return least != "" && logLevel(level).ShouldSendTo(least)
}

// Handle implements [slog.Handler]. It sends the record before the answer of the request.
func (h *clientHandler) Handle(_ context.Context, record slog.Record) error {
	fields := recordFields{{Key: "message", Value: record.Message}}
	for _, a := range h.fixed {
		fields.add("", a)
	}
	record.Attrs(func(a slog.Attr) bool {
		fields.add(h.group, a)
		return true
	})
	h.request.deliver(func(r *request) bool {
		return r.notify(string(mcp.MethodNotificationMessage), ordered.Map{
			{Key: "level", Value: logLevel(record.Level)}, {Key: "data", Value: ordered.Map(fields)},
		})
	})
	return nil
}

// recordFields holds the fields of a record.
type recordFields ordered.Map

// add adds an attribute. Names in a group are prefixed with the group's name. A name that is in
// use, such as message, gets a number.
func (l *recordFields) add(group string, a slog.Attr) {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, within := range value.Group() {
			l.add(group, within)
		}
		return
	}
	if a.Equal(slog.Attr{}) { // slog ignores empty attributes
		return
	}
	data, name := (*ordered.Map)(l), group+a.Key
	for n := 2; slices.Contains(data.Keys(), name); n++ {
		name = fmt.Sprintf("%s%s-%d", group, a.Key, n)
	}
	data.Set(name, valueOf(value))
}

// valueOf returns a value as JSON. Errors, durations and values that JSON cannot represent, such as
// NaN and functions, become text.
func valueOf(v slog.Value) any {
	value := v.Any()
	_, own := value.(json.Marshaler)
	_, failure := value.(error)
	if v.Kind() == slog.KindDuration || failure && !own {
		return fmt.Sprint(value)
	}
	if raw, err := ordered.JSON(value); err == nil {
		return json.RawMessage(raw)
	}
	return fmt.Sprint(value)
}

// WithAttrs implements [slog.Handler].
func (h *clientHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	for _, a := range attrs {
		if h.group != "" {
			a = slog.Attr{Key: strings.TrimSuffix(h.group, "."), Value: slog.GroupValue(a)}
		}
		with.fixed = append(with.fixed[:len(with.fixed):len(with.fixed)], a)
	}
	return &with
}

// WithGroup implements [slog.Handler].
func (h *clientHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.group += name + "."
	return &with
}
