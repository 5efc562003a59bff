package workbench

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/app/offer"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/issuer"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/target"
	"github.com/toolfold/toolfold/serve"
)

// promptsWatched is the interval of looking for changed workflows.
const promptsWatched = 5 * time.Second

// login returns the issuer of the callers over HTTP.
func (b *Workbench) login(ctx context.Context, o *settings.Options) (*issuer.Issuer, error) {
	l := o.HTTPLogin
	if len(l.Audiences) == 0 {
		l.Audiences = []string{l.URL}
	}
	if l.Rights = cmp.Or(l.Rights, "rights.yaml"); !filepath.IsAbs(l.Rights) {
		l.Rights = filepath.Join(filepath.Dir(o.Files.Global), l.Rights)
	}
	var secret string
	if l.ClientSecret != "" {
		var err error
		if secret, err = servers.Secret(ctx, l.ClientSecret); err != nil {
			return nil, fmt.Errorf("httpLogin.clientSecret: %w", err)
		}
	}
	i, err := issuer.New(ctx, issuer.Options{
		ClientID: l.ClientID, ClientSecret: secret,
		URL: l.Issuer, Resource: l.URL, Audiences: l.Audiences, Scopes: l.Scopes, Groups: cmp.Or(l.Groups, "groups"), Rights: l.Rights,
		Families: b.RuleFamilies, Sets: o.Servable(), Log: b.log,
	})
	if err != nil {
		return nil, fmt.Errorf("httpLogin: %w", err)
	}
	return i, nil
}

// meet returns authorize with a look at servers that never listed their tools and get exchanged tokens: the first known
// caller with rights there lets them list.
func (b *Workbench) meet(authorize func(*http.Request) (serve.Identity, error)) func(*http.Request) (serve.Identity, error) {
	if b.gateway == nil || !b.gateway.Exchanges() {
		return authorize
	}
	return func(r *http.Request) (serve.Identity, error) {
		who, err := authorize(r)
		if err == nil {
			b.gateway.Met(callctx.With(r.Context(), callctx.BearerOf(r.Header.Get("Authorization"), who.Expires)), who.Rights)
		}
		return who, err
	}
}

// Prepare opens the store of servers that share sessions, so that balancers send no requests before. It is nil for other
// servers, which open their store at the first call that needs it.
func (b *Workbench) Prepare() func(context.Context) error {
	if b.sessions == nil {
		return nil
	}
	return func(ctx context.Context) error {
		_, err := b.store.Open(ctx)
		return err
	}
}

// NewServer returns the server of the workbench. It notifies its clients of changes until ctx ends.
func (b *Workbench) NewServer(ctx context.Context, o *settings.Options) (*serve.Server, error) {
	families := o.Rules().Rights().Filter(b.Families())
	instructions := func(families []*toolfold.Family) string {
		return Instructions(b.Surface, o.Kind(), families) + quoteNames(families, o.InstructionTokens)
	}
	served := serve.Options{
		Instructions:    instructions(families),
		InstructionsFor: func(r *toolfold.Rights) string { return instructions(r.Filter(families)) },
		Version:         env.Version(), Surface: b.Surface, Metrics: b.metrics, Log: b.log, Structured: o.Structured, Tasks: b.tasks,
		AlwaysLoad: serve.Loads(o.AlwaysLoad), SearchHints: o.Kind() == target.Deferring,
		Limits: serve.Limits{Body: int64(o.MaxBodyBytes), Sessions: o.MaxSessions, Connections: o.MaxConnections, Calls: o.MaxCalls,
			PerMinute: o.CallsPerMinute},
	}
	if o.HTTP != "" {
		if err := servers.CheckExchanges(o); err != nil {
			return nil, env.UsageError("%v", err)
		}
	}
	if o.HTTP != "" && o.HTTPLogin.Issuer != "" {
		login, err := b.login(ctx, o)
		if err != nil {
			return nil, err
		}
		b.issuer = login
		served.Authorize, served.Protected = b.meet(login.Authorize), login.Protected()
	}
	if b.sessions != nil {
		served.Sessions = b.sessions
	}
	if o.Files.Workspace != "" && !o.GatewayOnly() {
		served.Prompts = b.offer.Prompts
	}
	if b.gateway != nil {
		served.Others, served.SessionEnded = b.gateway, b.gateway.SessionEnded
		if served.Prompts == nil {
			served.Prompts = func(context.Context) ([]serve.Prompt, error) { return nil, nil }
		}
	}
	if o.Resources != "none" {
		served.Resources, served.AnswerLink = b.offer.Resources, offer.AnswerLink
		if !o.GatewayOnly() {
			served.Skills = b.offer.Skills
		}
	}
	server, err := serve.New(served)
	if err != nil {
		return nil, err
	}
	b.server.Store(server)
	b.printLapses(o)
	if !o.GatewayOnly() {
		go b.offer.Watch(ctx, promptsWatched, server.PromptsChanged)
	}
	return server, nil
}
