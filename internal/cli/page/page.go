// Package page serves the user's page: the cost of tools, the state of servers, and recorded calls. It calls
// actions with the user's rights. For changes that are no actions, such as approving tools, it calls the
// functions behind the commands; questions of tasks are answered as their client answers them.
//
// The server writes every view as a whole. A script of the page only loads a view again and replaces the parts
// that differ, so there is one way to write each part, and the page works without the script. It learns of
// changes by marks of the store and the files, which cost less than a query: the store counts the changes of
// what views show, so other processes send no notifications, and need not know of the page.
package page

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/storage"
)

//go:embed templates style.css icon.svg live.js charts.js uplot/*.js uplot/*.css
var files embed.FS

// templates are parsed once, by the first request.
var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("page").Funcs(functions).ParseFS(files, "templates/*.tmpl")
})

// Page is the handler of the page.
type Page struct {
	access   *access // nil if users log in
	login    *login  // nil if the browser comes by a link
	machine  *machine
	stored   func() bool // reports whether there may be a store; reading must not make one
	call     func(ctx context.Context, action string, arguments json.RawMessage) (json.RawMessage, error)
	activity func(ctx context.Context, since, until time.Time) ([]storage.Activity, error) // a zero until is no limit
	counts   [len(periods)]counts                                                          // read by activity
	called   func(ctx context.Context) (storage.Called, error)
	// restart ends the shared processes of a server, and describes that.
	restart func(ctx context.Context, o *settings.Options, name string) (effect string, err error)
	// process describes where a server runs now.
	process func(ctx context.Context, o *settings.Options, name string) (string, error)
	logIn   logInFunc
	logins  serverLogins // begun by logIn
	asks    asker
	// definitions returns the workflows that a task runs, by "workflow " and id.
	definitions func(ctx context.Context, taskID string) (map[string]json.RawMessage, error)
	// scriptRun returns the journal of a task that runs a script.
	scriptRun func(ctx context.Context, taskID, source string) (workbench.ScriptRun, error)
	// record makes a change that is not a call, and records the user who made it.
	record   func(ctx context.Context, name string, arguments any, change func(context.Context) error) error
	tools    func() (toolbox, error)
	previews onces         // of calls of tools, which confirm a call each
	patience time.Duration // see [patience]
	live     *live         // reads mark
	// storeMark returns another text after each change of the store.
	storeMark func(context.Context) (string, error)
	version   string
	log       *slog.Logger
	now       func() time.Time
	handler   http.Handler
}

// routes sets the handler of all paths.
func (p *Page) routes() {
	mux := http.NewServeMux()
	for _, path := range []string{"style.css", "icon.svg", "live.js", "charts.js", "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css"} {
		mux.Handle("GET /"+path, http.FileServerFS(files))
	}
	mux.HandleFunc("GET /changes", p.changes)
	mux.HandleFunc("GET /{$}", p.show("overview", p.overview))
	mux.HandleFunc("GET /servers", p.show("servers", p.servers))
	mux.HandleFunc("GET /servers/{name}", p.show("server", p.server))
	mux.HandleFunc("GET /servers/{name}/plan", p.show("plan", p.plan))
	mux.HandleFunc("POST /servers/{name}/plan", p.editPlan)
	mux.HandleFunc("POST /servers/{name}/switch", p.change(p.switchServer))
	mux.HandleFunc("POST /servers/{name}/restart", p.restartServer)
	mux.HandleFunc("POST /servers/{name}/login", p.logInAt)
	mux.HandleFunc("GET /servers/{name}/restart", toServer) // the address of a view with what a restart did
	mux.HandleFunc("POST /servers/{name}/approve", p.decide("approve", "approved", (*gateway.Gateway).Approve))
	mux.HandleFunc("POST /servers/{name}/reject", p.decide("reject", "rejected", (*gateway.Gateway).Reject))
	mux.HandleFunc("GET /tools", p.show("actions", p.own))
	mux.HandleFunc("GET /tools/{name}", p.show("tool", p.tool))
	mux.HandleFunc("POST /tools/{name}", p.try)
	mux.HandleFunc("GET /calls", p.show("calls", p.calls))
	mux.HandleFunc("GET /calls/never", p.show("never", p.never)) // ids of traces are hexadecimal
	mux.HandleFunc("GET /calls/{id}", p.show("trace", p.one("trace.get", "traceId", 1000)))
	mux.HandleFunc("GET /charts", p.show("charts", p.charts))
	mux.HandleFunc("GET /tasks", p.show("tasks", p.tasks))
	mux.HandleFunc("GET /tasks/new", p.show("schedule", p.schedule)) // ids of tasks are UUIDs
	mux.HandleFunc("POST /tasks/new", p.saveSchedule)
	mux.HandleFunc("GET /tasks/{id}", p.show("task", p.task))
	mux.HandleFunc("GET /tasks/{id}/schedule", p.show("schedule", p.schedule))
	mux.HandleFunc("POST /tasks/{id}/schedule", p.saveSchedule)
	mux.HandleFunc("POST /tasks/{id}/answer", p.answer)
	mux.HandleFunc("POST /tasks/{id}/go-on", p.goOn)
	mux.HandleFunc("GET /tasks/{id}/answer", toTask) // the address of an answer that is shown again
	mux.HandleFunc("GET /tasks/{id}/go-on", toTask)
	mux.HandleFunc("GET /notes", p.show("notes", p.notes))
	mux.HandleFunc("GET /note", p.show("note", p.note))
	mux.HandleFunc("GET /sessions", p.show("sessions", p.sessions))
	mux.HandleFunc("GET /sessions/{id}", p.show("session", p.one("session.status", "sessionId", 100)))
	mux.HandleFunc("GET /settings", p.show("settings", p.state))
	mux.HandleFunc("POST /do/{action}", p.change(p.do))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { p.fail(w, r, errNotFound) })
	if p.login != nil {
		p.handler = p.login.guard(mux)
	} else {
		p.handler = p.access.guard(mux)
	}
}

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// view is the data of every template.
type view struct {
	Name    string // of the template
	Version string
	Form    string // token of the page's forms; empty for a browser that is not admitted
	User    string // name of the token that logged in; may be empty
	Data    any
}

// show returns the handler of a view that only reads.
func (p *Page) show(name string, read func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := read(r)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		p.write(w, r, http.StatusOK, name, data)
	}
}

// change returns the handler of a form. After the change the browser goes to the path in the form.
func (p *Page) change(do func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(r); err != nil {
			p.fail(w, r, err)
			return
		}
		http.Redirect(w, r, local(r.PostFormValue("back")), http.StatusSeeOther)
	}
}

// byUser makes a change that is not a call, and records which user made it, with the form's fields.
func (p *Page) byUser(r *http.Request, name string, change func(context.Context) error) error {
	arguments := map[string]string{"of": cmp.Or(r.PathValue("name"), r.PathValue("id"))}
	for field := range r.PostForm {
		if field != "form" && field != "back" {
			arguments[field] = r.PostFormValue(field)
		}
	}
	return p.record(asUser(r.Context()), name, arguments, change)
}

// errNotFound reports that nothing has the requested name.
var errNotFound = errors.New("there is no such page, server or trace")

// conflict is an error that the user can mend by looking again.
type conflict struct{ error }

// Unwrap returns the error of the action.
func (c conflict) Unwrap() error { return c.error }

// fail shows an error in place of a view.
func (p *Page) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, errNotFound):
		status = http.StatusNotFound
	case errors.As(err, &conflict{}):
		status = http.StatusConflict
	}
	p.write(w, r, status, "error", err.Error())
}

// livePolicy also lets the page of an admitted browser load its script, and the script load pages and the stream of
// changes.
const livePolicy = "; script-src 'self'; connect-src 'self'"

func (p *Page) write(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	all, err := templates()
	var text bytes.Buffer
	by := callctx.Of[visit](r.Context())
	if err == nil {
		err = all.ExecuteTemplate(&text, name, view{Name: name, Version: p.version, Form: by.form, User: by.user, Data: data})
	}
	if err != nil {
		p.log.Error("showing "+name, "err", err)
		http.Error(w, "toolfold could not show this: its log has the reason", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if by.form != "" {
		w.Header().Set("Content-Security-Policy", policy+livePolicy)
	}
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // fails only if the browser is gone
}
