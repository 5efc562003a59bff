package connect

import (
	"html/template"
	"net/http"
	"sync"
)

// Texts of the pages.
const (
	noSuchServer = "There is no server of this name at which callers log in."
	noTicket     = "This link was used, is too old, or belongs to another browser. Call the tool again, and open the new link."
	notYours     = "This link is for another caller. If somebody sent it to you, close this page: they would act as you."
	unknownToken = "This server does not know this token. Give the token that your MCP client sends to it."
)

// view is the data of a page.
type view struct {
	Server, Host string // at which the caller logs in
	Ticket       string
	Problem      string // why the last form was refused; may be empty
	Token        bool   // callers can give their token
	Issuer       string // users can log in there; empty = there is no issuer
	Done         bool
	Failed       string // shown alone; empty = nothing failed
}

var page = sync.OnceValue(func() *template.Template { return template.Must(template.New("connect").Parse(text)) })

const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>toolfold: log in</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}
input,button{font:inherit;padding:.4rem .6rem;margin:.3rem 0}input{width:100%;box-sizing:border-box}
.problem{border-left:4px solid #c33;padding-left:.8rem}</style></head><body>
{{if .Failed}}<h1>Log in</h1><p class="problem">{{.Failed}}</p>
{{else if .Done}}<h1>You are logged in at {{.Server}}</h1>
<p>You can close this page. A call that waits goes on; otherwise call the tool again.</p>
{{else}}<h1>Log in at {{.Server}}</h1>
<p>Your next step is to log in at <b>{{.Host}}</b>. Then your calls of {{.Server}} are made in your name, and no calls of other people.</p>
{{with .Problem}}<p class="problem">{{.}}</p>{{end}}
<p>Go on only if you have just called a tool of {{.Server}} yourself.</p>
{{if .Issuer}}<form method="post" action="/connect/{{.Server}}"><input type="hidden" name="ticket" value="{{.Ticket}}">
<button>Show at {{.Issuer}} who you are</button></form>{{end}}
{{if .Token}}<form method="post" action="/connect/{{.Server}}"><input type="hidden" name="ticket" value="{{.Ticket}}">
<label>Your token for this server<input type="password" name="token" autocomplete="off" required></label>
<button>Go on</button></form>{{end}}
{{end}}</body></html>
`

func show(w http.ResponseWriter, status int, v view) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = page().Execute(w, v) // the browser has left
}
