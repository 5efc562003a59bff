package serve

import (
	"fmt"
	"html"
	"net/http"
	"path"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// pageHead begins the page: name and version in the title and the headline, and the address of the
// MCP endpoint. It is a format string: html/template would add 3 MB to every program that links
// serve.
const pageHead = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>%[1]s %[2]s</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
pre{overflow:auto;padding:.7rem;border:1px solid #8886}td{vertical-align:top;padding:.1rem 1rem .1rem 0}</style></head>
<body><h1>%[1]s %[2]s</h1>
<p>This is a server of the <a href="https://modelcontextprotocol.io">Model Context Protocol</a>. Its clients are coding
agents and the like; give them this address:</p>
<pre>%[3]s</pre>
`

// withPage serves browsers a page with the tools and the configuration of clients. Other requests
// go to next. If callers need a token, the page does not show the tools.
func (s *web) withPage(know gate, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !acceptsHTML(r) {
			next.ServeHTTP(w, r)
			return
		}
		scheme := "http"
		if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
			scheme = "https"
		}
		option, headers, what := "", "", "<p>Callers need a bearer token, and the tools served depend on it.</p>\n"
		if s.protected != nil {
			what = fmt.Sprintf("<p>Clients log in at %s, and the tools served depend on who logs in.</p>\n",
				html.EscapeString(strings.Join(s.protected.Issuers, ", ")))
		} else if know != nil {
			option, headers = ` --header "Authorization: Bearer $TOKEN"`, `, "headers": {"Authorization": "Bearer …"}`
		} else {
			list := s.surface.Discovery.List(callctx.With(r.Context(), toolfold.Origin{Rights: callerOf(r.Context()).rights}))
			var rows strings.Builder
			for _, tool := range list {
				fmt.Fprintf(&rows, "<tr><td><code>%s</code></td><td>%s</td></tr>\n",
					html.EscapeString(tool.Name), html.EscapeString(tool.Description))
			}
			what = fmt.Sprintf("<h2>%d tools</h2>\n<table>%s</table>\n", len(list), rows.String())
		}

		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		name, url := html.EscapeString(s.name), html.EscapeString(scheme+"://"+r.Host+path.Join("/mcp", r.PathValue("set")))
		fmt.Fprintf(w, pageHead, name, html.EscapeString(s.version), url)
		fmt.Fprintf(w, "<p>Claude Code:</p><pre>claude mcp add --transport http %s %s%s</pre>\n", name, url, option)
		fmt.Fprintf(w, "<p>Other clients, in their configuration:</p>\n"+
			`<pre>{"mcpServers": {"%s": {"type": "http", "url": "%s"%s}}}</pre>`+"\n", name, url, headers)
		fmt.Fprint(w, what)
		fmt.Fprint(w, `<p><a href="/healthz">/healthz</a> reports whether it runs, `+
			`<a href="/readyz">/readyz</a> whether it takes requests, <a href="/metrics">/metrics</a> has figures.</p></body></html>`)
	})
}
