package config

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/run/provider"
	"github.com/toolfold/toolfold/internal/system/target"
)

// Setter is a source that may change a setting. The user may change all settings: by flag, in the
// environment, in the user's own file and with toolfold call config.set. Each Setter includes those
// before it.
type Setter int

const (
	// User is for settings that name other hosts or files, run programs, grant access or can
	// prevent a start: only the user may change them.
	User Setter = iota
	// Trusted adds the file of a trusted workspace, but not calls of clients.
	Trusted
	// Narrowing adds the file of a workspace, which can only restrict the user's settings, but not
	// calls of clients.
	Narrowing
	// Workspace adds the file of a workspace, which comes with a cloned repository, and calls of
	// clients that write it.
	Workspace
	// Client adds calls of clients that write the user's file. Such a value also applies to all
	// other workspaces.
	Client
)

// Setting is a row of [Settings]. By defaults to User.
type Setting struct {
	toolfold.Field
	By Setter
}

// Settings declares all settings, with the field types of tools. Type, allowed values, default,
// text and who may set a setting are only written here. [Options] has the same settings as a Go
// struct.
var Settings = append([]Setting{
	{toolfold.String{
		Name: "toolMode", Doc: "Names in tools/list: one tool per family, or the old tool names.",
		Enum: []string{"consolidated", "legacy"},
	}.With(toolfold.Default("consolidated")), Client},
	{toolfold.String{
		Name: "listing", Doc: "Detail of each tool in tools/list: lazy unless set, full in legacy mode.",
		Enum: []string{"search", "lazy", "signature", "full"},
	}, Client},
	{toolfold.String{
		Name: "params", Doc: "Form of the parameters in listings below full: an object, JSON text (for strict hosts), or, at " +
			"signature, each parameter by itself.",
		Enum: []string{"object", "text", "flat"},
	}.With(toolfold.Default("object")), Client},
	{toolfold.String{
		Name: "tier", Doc: "Tools of the workbench in tools/list; tools that it leaves out can still be found and called. none switches " +
			"the workbench off: only upstreams and scripts are served.",
		Enum: []string{"none", "core", "standard", "extended"},
	}.With(toolfold.Default("extended")), Client},
	{toolfold.String{
		Name: "fold", Doc: "Actions of one tool: a whole family; reading and changing actions apart; or, with none, one action.",
		Enum: []string{"family", "effect", "none"},
	}.With(toolfold.Default("family")), User},
	{toolfold.String{
		Name: "alwaysLoad", Doc: "Tools that deferring clients are asked to load at once: the tools for discovery, also the core tier, or " +
			"all except tools of upstreams.",
		Enum: []string{"none", "discovery", "core", "all"},
	}.With(toolfold.Default("discovery")), User},
	{toolfold.String{
		Name: "for", Doc: "Client, or kind of client, whose best list is served. Your own listing, fold, params, structured, resultLimit, " +
			"alwaysLoad and resources win.",
		Enum: target.Names(),
	}, User},
	{toolfold.Bool{Name: "structured", Doc: "Send answers as structured content too, for programs."}.With(toolfold.Default(false)), Workspace},
	{toolfold.String{
		Name: "resources", Doc: "Resources that clients can read: nothing; designs, outputs of tasks and cut answers; or notes too.",
		Enum: []string{"none", "work", "all"},
	}.With(toolfold.Default("work")), User},
	{toolfold.Int{Name: "resultLimit", Doc: "Limit of an answer to a client, in bytes; a token has about 3.5.", Min: 4000, Max: 1 << 20}.
		With(toolfold.Default(callctx.DefaultRoom)), User},
	{toolfold.Bool{Name: "strictNames", Doc: "Refuse calls by names that are not listed."}.With(toolfold.Default(false)), Workspace},
	{toolfold.Bool{Name: "readOnly", Doc: "Offer only actions that read, scans and guard.check."}.With(toolfold.Default(false)), Narrowing},
	{toolfold.Strings("allow", "Offer only these actions: names, or patterns such as memory.*; legacy names count too.").
		With(toolfold.MaxItems(200)), User},
	{toolfold.Strings("deny", "Do not offer these actions, under any name: patterns such as *.delete.").With(toolfold.MaxItems(200)),
		Narrowing},
	{toolfold.String{Name: "set", Doc: "Start and offer only the upstreams of this set, see sets.", MinLen: 1}, User},
	{toolfold.String{Name: "store", Doc: "URL of the store: sqlite:///path, postgres://… or memory:.", MinLen: 1}, User},
	{toolfold.String{Name: "http", Doc: "Address to serve streamable HTTP on, such as 127.0.0.1:8080.", MinLen: 1}, User},
	{toolfold.String{Name: "httpTokenFile", Doc: "File with the bearer tokens of HTTP callers; each sends one.", MinLen: 1}, User},
	{toolfold.Object{
		Name: "httpLogin", Doc: "Issuer of OAuth whose tokens HTTP callers may send, and the rights of their groups.",
		Optional: toolfold.Fields{
			toolfold.String{Name: "issuer", Doc: "URL of the issuer.", MinLen: 1},
			toolfold.String{Name: "url", Doc: "Address of this server for clients, such as https://tools.example.com/mcp.", MinLen: 1},
			toolfold.String{Name: "rights", Doc: "File with the rights of groups, from the folder of the settings; rights.yaml unless set.",
				MinLen: 1},
			toolfold.String{Name: "groups", Doc: "Claim with the groups of a caller, groups unless set; a.b is b within a.", MinLen: 1},
			toolfold.List{Name: "audiences", Doc: "Audiences, one of which a token must have; url unless set.", MaxItems: 20,
				Of: toolfold.String{MinLen: 1}},
			toolfold.List{Name: "scopes", Doc: "Scopes that a token must have.", MaxItems: 20, Of: toolfold.String{MinLen: 1}},
			toolfold.String{Name: "clientId", Doc: "Client that this server is at the issuer, for upstreams at which each caller logs in.",
				MinLen: 1},
			toolfold.String{Name: "clientSecret", Doc: "Its secret, as a reference such as ${NAME} or ${keyring:NAME}.", MinLen: 1},
		},
	}, User},
	{toolfold.List{
		Name: "loginKeys", Doc: "Keys for the logins of callers in the store, as references to secrets, such as ${keyring:login-key}. " +
			"The first encrypts; all decrypt.",
		Of: toolfold.String{MinLen: 1}, MinItems: 1, MaxItems: 20,
	}, User},
	{toolfold.Object{
		Name: "httpTls", Doc: "Certificate of the server over HTTP, and its key; read again when the certificate changes.",
		Optional: toolfold.Fields{
			toolfold.String{Name: "cert", Doc: "File with the certificate and those that sign it, in PEM.", MinLen: 1},
			toolfold.String{Name: "key", Doc: "File with the key, in PEM.", MinLen: 1},
		},
	}, User},
	{toolfold.String{Name: "allowedHosts", Doc: "Further host names that HTTP clients may use, separated by commas.",
		MinLen: 1}, User},
	{toolfold.Int{Name: "maxBodyBytes", Doc: "Limit of one message, in bytes.", Min: 1 << 10, Max: 1 << 30}.
		With(toolfold.Default(4 << 20)), User},
	{toolfold.Int{Name: "maxSessions", Doc: "Limit of HTTP sessions at a time.", Min: 1, Max: 100_000}.With(toolfold.Default(1000)), User},
	{toolfold.Int{Name: "maxConnections", Doc: "Limit of HTTP connections at a time.", Min: 1, Max: 100_000}.
		With(toolfold.Default(1024)), User},
	{toolfold.Int{Name: "maxCalls", Doc: "Limit of calls at a time.", Min: 1, Max: 10_000}.With(toolfold.Default(256)), User},
	{toolfold.Int{Name: "callsPerMinute", Doc: "Limit of calls in a minute of each HTTP caller with a token.", Min: 1, Max: 100_000}, User},
	{toolfold.Int{
		Name: "drainMs", Doc: "Milliseconds for HTTP calls to end when the server stops; then they are cancelled.",
		Min: 1, Max: 600_000,
	}.With(toolfold.Default(25_000)), User},
	{toolfold.Int{Name: "upstreamMegabytes", Doc: "Limit of messages of upstreams in memory, in megabytes.", Min: 16, Max: 100_000}.
		With(toolfold.Default(256)), User},
	{toolfold.Int{
		Name: "upstreamWaitMs", Doc: "Milliseconds that a first start waits for the tools of upstreams, if tools/list shows them.",
		Max: 60_000,
	}.With(toolfold.Default(1000)), User},
	{toolfold.Int{
		Name: "instructionTokens", Doc: "Tokens for the first sentences of upstreams' instructions in the server's own; 0 leaves them out.",
		Max: 10_000,
	}.With(toolfold.Default(400)), User},
	{toolfold.String{
		Name: "workspaceName", Doc: "Name of the workspace of tasks and notes. Unless set: a trusted repository's origin, or " +
			"machine and path.",
		MinLen: 1, MaxLen: 200,
	}, User},
	{toolfold.String{
		Name: "memoryNamespace", Doc: "Namespace of memory for calls without one. Unless set: default, and all namespaces for searches.",
		MinLen: 1, MaxLen: 100,
	}, Trusted},
	{toolfold.String{
		Name: "memoryScope", Doc: "Scope of notes that are stored without one: workspace, or user for notes of all workspaces.",
		Enum: []string{"workspace", "user"},
	}.With(toolfold.Default("workspace")), User},
	{toolfold.Int{Name: "memoryVersions", Doc: "Limit of earlier versions of a note, the latest, at most 1 MiB; 0 keeps none.", Max: 100}.
		With(toolfold.Default(10)), User},
	{toolfold.Int{Name: "memoryVersionDays", Doc: "Days to keep earlier versions of notes, and deleted notes; 0 keeps none.", Max: 3650}.
		With(toolfold.Default(30)), User},
	{toolfold.String{
		Name: "notesFolder", Doc: "Folder in the workspace that has its notes as Markdown files too, such as .toolfold/notes, if the " +
			"workspace is trusted.",
		MinLen: 1, MaxLen: 200,
	}, Trusted},
	{toolfold.Bool{Name: "traceArguments", Doc: "Keep arguments and results of calls in traces, shortened and without secrets."}.
		With(toolfold.Default(false)), User},
	{toolfold.Bool{Name: "traceCalls", Doc: "Record calls in traces. Runs and tasks are always recorded."}.With(toolfold.Default(true)), User},
	{toolfold.Int{Name: "traceDays", Doc: "Days to keep traces.", Min: 1, Max: 3650}.With(toolfold.Default(14)), User},
	{toolfold.Int{Name: "traceMegabytes", Doc: "Limit of traces in megabytes; the oldest are deleted first.", Min: 1, Max: 100_000}.
		With(toolfold.Default(256)), User},
	{toolfold.Int{Name: "auditDays", Doc: "Days to keep who called what over HTTP with a token; 0 records no calls.", Max: 3650}.
		With(toolfold.Default(90)), User},
	{toolfold.Int{Name: "taskRetentionDays", Doc: "Days to keep ended tasks.", Min: 1, Max: 3650}.With(toolfold.Default(30)), User},
	{toolfold.Int{Name: "maxInterruptions", Doc: "Interrupted runs of an attempt before a task fails.", Min: 0, Max: 1000}.
		With(toolfold.Default(5)), User},
	{toolfold.String{
		Name: "scriptsConfirm", Doc: "Calls of scripts that wait until you agree: those that change something, those that may destroy " +
			"something, or none.",
		Enum: []string{"never", "destructive", "writes"},
	}.With(toolfold.Default("never")), User},
	{toolfold.Int{Name: "metricDays", Doc: "Days to keep points of metrics.", Min: 1, Max: 3650}.With(toolfold.Default(90)), User},
	{toolfold.Int{Name: "metricPoints", Doc: "Limit of points in a series of a metric; the newest stay.", Min: 1000, Max: 10_000_000}.
		With(toolfold.Default(1_000_000)), User},
	{toolfold.Bool{Name: "worker", Doc: "Run queued tasks while serving."}.With(toolfold.Default(true)), User},
	{toolfold.List{
		Name: "testCommand", Doc: "Program and arguments that test the workspace, for refactor.apply; no shell.",
		Of: toolfold.String{MaxLen: 1000}, MinItems: 1, MaxItems: 100,
	}, Trusted},
	{toolfold.Object{
		Name: "embeddings", Doc: "Endpoint for embeddings, which find notes and tools by meaning. It receives their texts.",
		Optional: toolfold.Fields{
			toolfold.String{Name: "baseURL", Doc: "URL of the API, up to /v1.", MinLen: 1},
			toolfold.String{Name: "model", Doc: "Model of the vectors.", MinLen: 1},
			toolfold.String{Name: "apiKeyEnv", Doc: "Environment variable that holds the key.", MinLen: 1},
		},
	}, User},
	{toolfold.Map{Name: "upstreams", Doc: "MCP servers whose tools are served too, by name.", Of: upstreamSettings}, User},
	{toolfold.Map{
		Name: "sets", Doc: "Groups of upstreams, by name: lists of upstreams and of their tools, such as files.read_*.",
		Of: toolfold.List{Of: toolfold.String{MinLen: 1, MaxLen: 500}, MaxItems: 1000},
	}, User},
	{toolfold.String{
		Name: "registry", Doc: "Registry of MCP servers for upstream search and add --from-registry: the official registry unless " +
			"set.",
		MinLen: 1,
	}, User},
}, providerSettings()...)

// upstreamSettings declares the settings of an [Upstream].
var upstreamSettings = toolfold.Object{Optional: toolfold.Fields{
	toolfold.String{Name: "command", Doc: "Program to start. It speaks MCP on standard input and output.", MinLen: 1},
	toolfold.Strings("args", "Arguments of the program.").With(toolfold.MaxItems(100)),
	toolfold.Map{
		Name: "env", Doc: "Environment variables of the program, in addition to the usual ones. ${NAME} stands for a variable of yours.",
		Of: toolfold.String{},
	},
	toolfold.String{Name: "cwd", Doc: "Folder in which the program starts: the workspace unless set.", MinLen: 1},
	toolfold.String{Name: "url", Doc: "Address of the server, instead of a command.", MinLen: 1},
	toolfold.Map{
		Name: "headers", Doc: "Headers of requests to the address. ${NAME} stands for an environment variable of yours.",
		Of: toolfold.String{},
	},
	toolfold.String{Name: "type", Doc: "Transport; sse is the older transport over HTTP.", Enum: []string{"stdio", "http", "sse"}},
	toolfold.String{
		Name: "fold", Doc: "Tools of the server in one folded tool: all of a noun, reading and changing ones apart; or, with none, one.",
		Enum: []string{"effect", "none"},
	},
	toolfold.Strings("include", "Offer only these tools of the server: names, or patterns such as list_*.").With(toolfold.MaxItems(1000)),
	toolfold.Strings("exclude", "Do not offer these tools of the server.").With(toolfold.MaxItems(1000)),
	toolfold.Strings("repeat", "Tools to call again if the process ended during a call, in addition to tools with the idempotent "+
		"hint: names, or patterns.").With(toolfold.MaxItems(1000)),
	toolfold.Int{Name: "timeoutMs", Doc: "Time limit of a call: 60000 unless set.", Min: 1, Max: 3_600_000},
	toolfold.Int{
		Name: "questionTimeoutMs", Doc: "Time that a call waits for the answer of a silent client if another call has to ask: 60000 unless set.",
		Min: 1, Max: 3_600_000,
	},
	toolfold.Int{
		Name: "maxConcurrency", Doc: "Limit of calls at a time, without calls that wait for their client: 16 unless set.",
		Min: 1, Max: 10_000,
	},
	toolfold.Int{Name: "callsPerMinute", Doc: "Limit of calls in a minute, of all callers; later ones wait up to 10 s.", Min: 1, Max: 100_000},
	toolfold.Int{Name: "resultLimit", Doc: "Limit of an answer in bytes: toolfold's resultLimit unless set.", Min: 4000, Max: 1 << 20},
	toolfold.Int{Name: "maxTools", Doc: "Limit of tools in its list: 5000 unless set.", Min: 1, Max: 100_000},
	toolfold.Int{Name: "schemaLimit", Doc: "Limit of a tool's schema in bytes: 262144 unless set. A tool with a larger schema is left out.",
		Min: 1 << 10, Max: 8 << 20},
	toolfold.Int{Name: "instructionsLimit", Doc: "Limit of its instructions in bytes: 65536 unless set.", Min: 1 << 10, Max: 8 << 20},
	toolfold.Int{Name: "messageLimit", Doc: "Limit of one message in bytes: 16777216 unless set.", Min: 64 << 10, Max: 1 << 30},
	toolfold.Int{Name: "probeTimeoutMs", Doc: "Time for the answer to server/discover, before initialize is tried: 3000 unless set.",
		Min: 1, Max: 600_000},
	toolfold.String{
		Name: "changes", Doc: "Tools that are new or have changed since they were accepted: held back unless set.",
		Enum: []string{"hold", "warn", "accept"},
	},
	toolfold.String{
		Name: "firstList", Doc: "The first list of a new server: offered unless set. With hold, nothing is offered until you " +
			"approve it.",
		Enum: []string{"hold", "accept"},
	},
	toolfold.String{
		Name: "isolate", Doc: "session starts a process for each session. Unless set, your sessions share one process.",
		Enum: []string{"session"},
	},
	toolfold.Int{Name: "maxSessions", Doc: "With isolate: limit of HTTP sessions that have a process at a time: 16 unless set.",
		Min: 1, Max: 10_000},
	toolfold.Int{Name: "sessionIdleMs", Doc: "With isolate: idle time after which the process of an HTTP session ends: 600000 " +
		"unless set.", Min: 1, Max: 86_400_000},
	toolfold.String{
		Name: "login", Doc: "Login that the server gets: one for everybody unless set; with caller, callers of serve --http log in as " +
			"themselves; with exchange, it gets a token for each of them.",
		Enum: []string{"shared", "caller", "exchange"},
	},
	toolfold.Object{
		Name: "exchange", Doc: "With login exchange: how the access token of a caller becomes one of the server.",
		Required: toolfold.Fields{
			toolfold.String{Name: "tokenUrl", Doc: "Token endpoint of the authorization server.", MinLen: 1},
			toolfold.String{Name: "clientId", Doc: "Client that toolfold is there.", MinLen: 1},
		},
		Optional: toolfold.Fields{
			toolfold.String{Name: "clientSecret", Doc: "Its secret, as a reference such as ${NAME} or ${keyring:NAME}.", MinLen: 1},
			toolfold.String{Name: "audience", Doc: "Audience of the new token.", MinLen: 1},
			toolfold.List{Name: "scopes", Doc: "Scopes of the new token.", MaxItems: 50, Of: toolfold.String{MinLen: 1}},
			toolfold.String{
				Name: "grant", Doc: "tokenExchange (RFC 8693) unless set; onBehalfOf is for Microsoft Entra.",
				Enum: []string{"tokenExchange", "onBehalfOf"},
			},
		},
	},
	toolfold.String{Name: "clientId", Doc: "With login caller: client at its authorization server; registered unless set.", MinLen: 1},
	toolfold.String{Name: "clientSecret", Doc: "Secret of that client, as a reference such as ${NAME} or ${keyring:NAME}.", MinLen: 1},
	toolfold.Bool{Name: "disabled", Doc: "Switch the server off: it is not started or offered. Its settings and accepted tools " +
		"stay."},
}}

// providerSettings declares the settings of package provider.
func providerSettings() []Setting {
	settings := toolfold.Object{}
	for _, o := range provider.Options {
		var field toolfold.Field
		switch o.Kind {
		case provider.Text:
			text := toolfold.String{Name: o.Name, Doc: o.Doc, Enum: o.Enum}
			if o.Enum == nil {
				text.MinLen = 1
			}
			field = text
		case provider.Whole:
			field = toolfold.Int{Name: o.Name, Doc: o.Doc, Min: 1, Max: o.Max}
		case provider.Texts:
			field = toolfold.List{Name: o.Name, Doc: o.Doc, Of: toolfold.String{}, MinItems: 1, MaxItems: o.Max}
		}
		if o.Name == "type" {
			settings.Required = append(settings.Required, field)
		} else {
			settings.Optional = append(settings.Optional, field)
		}
	}
	return []Setting{
		{toolfold.Map{Name: provider.ProvidersSetting, Doc: provider.ProvidersDoc, Of: settings}, User},
		{toolfold.String{Name: provider.DefaultSetting, Doc: provider.DefaultDoc, MinLen: 1}, User},
	}
}

// Options holds the effective settings, decoded. A test compares its members with [Settings].
type Options struct {
	ToolMode          string                     `json:"toolMode"`
	Listing           string                     `json:"listing"` // empty = the default of the tool mode
	Params            string                     `json:"params"`
	Tier              string                     `json:"tier"`
	Fold              string                     `json:"fold"`
	AlwaysLoad        string                     `json:"alwaysLoad"`
	For               string                     `json:"for"` // empty = no particular host
	Structured        bool                       `json:"structured"`
	Resources         string                     `json:"resources"`
	ResultLimit       int                        `json:"resultLimit"`
	StrictNames       bool                       `json:"strictNames"`
	ReadOnly          bool                       `json:"readOnly"`
	Allow             []string                   `json:"allow"` // empty = all
	Deny              []string                   `json:"deny"`
	Set               string                     `json:"set"`   // empty = all upstreams
	Store             string                     `json:"store"` // empty = the default store
	HTTP              string                     `json:"http"`  // empty = standard input and output
	HTTPTokenFile     string                     `json:"httpTokenFile"`
	HTTPLogin         HTTPLogin                  `json:"httpLogin"`
	LoginKeys         []string                   `json:"loginKeys"` // empty = no logins of callers
	HTTPTLS           HTTPTLS                    `json:"httpTls"`
	AllowedHosts      string                     `json:"allowedHosts"` // empty = only the address
	MaxBodyBytes      int                        `json:"maxBodyBytes"`
	MaxSessions       int                        `json:"maxSessions"`
	MaxConnections    int                        `json:"maxConnections"`
	MaxCalls          int                        `json:"maxCalls"`
	CallsPerMinute    int                        `json:"callsPerMinute"` // 0 = no limit
	DrainMs           int                        `json:"drainMs"`
	UpstreamMegabytes int                        `json:"upstreamMegabytes"`
	UpstreamWaitMs    int                        `json:"upstreamWaitMs"`
	InstructionTokens int                        `json:"instructionTokens"`
	WorkspaceName     string                     `json:"workspaceName"`   // empty = derived from the workspace
	MemoryNamespace   string                     `json:"memoryNamespace"` // empty = the family's defaults
	MemoryScope       string                     `json:"memoryScope"`
	MemoryVersions    int                        `json:"memoryVersions"`
	MemoryVersionDays int                        `json:"memoryVersionDays"`
	NotesFolder       string                     `json:"notesFolder"` // empty = no files
	TraceArguments    bool                       `json:"traceArguments"`
	TraceCalls        bool                       `json:"traceCalls"`
	TraceDays         int                        `json:"traceDays"`
	AuditDays         int                        `json:"auditDays"`
	TraceMegabytes    int                        `json:"traceMegabytes"`
	TaskRetentionDays int                        `json:"taskRetentionDays"`
	MaxInterruptions  int                        `json:"maxInterruptions"`
	ScriptsConfirm    string                     `json:"scriptsConfirm"`
	MetricDays        int                        `json:"metricDays"`
	MetricPoints      int                        `json:"metricPoints"`
	Worker            bool                       `json:"worker"`
	TestCommand       []string                   `json:"testCommand"` // empty = no command
	Providers         map[string]json.RawMessage `json:"providers"`
	DefaultProvider   string                     `json:"defaultProvider"`
	Upstreams         map[string]Upstream        `json:"upstreams"` // by name
	Sets              map[string][]string        `json:"sets"`      // members by name of the set
	Registry          string                     `json:"registry"`  // empty = the official registry
	Embeddings        Embeddings                 `json:"embeddings"`
}

// HTTPLogin configures how callers over HTTP log in. Without an issuer they have tokens, and URL is for browsers only.
type HTTPLogin struct {
	Issuer    string   `json:"issuer,omitempty"`
	URL       string   `json:"url,omitempty"`       // of /mcp, for clients and browsers
	Rights    string   `json:"rights,omitempty"`    // empty = rights.yaml
	Groups    string   `json:"groups,omitempty"`    // empty = groups
	Audiences []string `json:"audiences,omitempty"` // empty = URL
	Scopes    []string `json:"scopes,omitempty"`

	// ClientID is this server at the issuer; empty = users cannot log in at upstreams. ClientSecret is a reference to its
	// secret; empty = it has none.
	ClientID     string `json:"clientId,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`
}

// HTTPTLS names the files of a certificate and of its key. Without them there is no TLS.
type HTTPTLS struct {
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// Embeddings configures the embeddings endpoint.
type Embeddings struct {
	BaseURL   string `json:"baseURL,omitempty"` // empty = no endpoint
	Model     string `json:"model,omitempty"`
	APIKeyEnv string `json:"apiKeyEnv,omitempty"`
}

// Upstream is another MCP server whose tools are served. It has a command or a URL. Texts may refer
// to variables, as in the files of clients.
type Upstream struct {
	Command           string            `json:"command,omitempty"`
	Args              []string          `json:"args,omitempty"`
	Env               map[string]string `json:"env,omitempty"`
	Cwd               string            `json:"cwd,omitempty"` // empty = the workspace
	URL               string            `json:"url,omitempty"`
	Headers           map[string]string `json:"headers,omitempty"`
	Type              string            `json:"type,omitempty"`    // empty = stdio with a command, else http
	Fold              string            `json:"fold,omitempty"`    // empty = effect
	Include           []string          `json:"include,omitempty"` // empty = all
	Exclude           []string          `json:"exclude,omitempty"`
	Repeat            []string          `json:"repeat,omitempty"`            // empty = tools with the idempotent hint
	TimeoutMs         int               `json:"timeoutMs,omitempty"`         // 0 = the default
	CallsPerMinute    int               `json:"callsPerMinute,omitempty"`    // 0 = no limit
	MaxConcurrency    int               `json:"maxConcurrency,omitempty"`    // 0 = the default
	QuestionTimeoutMs int               `json:"questionTimeoutMs,omitempty"` // 0 = the default
	ResultLimit       int               `json:"resultLimit,omitempty"`       // 0 = the server's limit

	// Zero means the default.
	MaxTools          int `json:"maxTools,omitempty"`
	SchemaLimit       int `json:"schemaLimit,omitempty"`
	InstructionsLimit int `json:"instructionsLimit,omitempty"`
	MessageLimit      int `json:"messageLimit,omitempty"`
	ProbeTimeoutMs    int `json:"probeTimeoutMs,omitempty"`

	Changes   string `json:"changes,omitempty"`   // empty = hold
	FirstList string `json:"firstList,omitempty"` // empty = accept
	Isolate   string `json:"isolate,omitempty"`   // empty = one process for all sessions

	// Zero means the default.
	MaxSessions   int `json:"maxSessions,omitempty"`
	SessionIdleMs int `json:"sessionIdleMs,omitempty"`

	Login string `json:"login,omitempty"` // empty = shared
	// ClientID is a client at the server's authorization server; empty = one is registered. ClientSecret is a reference to
	// its secret; empty = it has none.
	ClientID     string    `json:"clientId,omitempty"`
	ClientSecret string    `json:"clientSecret,omitempty"`
	Exchange     *Exchange `json:"exchange,omitempty"`

	Disabled bool `json:"disabled,omitempty"`
}

// Exchange configures how the access tokens of callers are exchanged.
type Exchange struct {
	TokenURL     string   `json:"tokenUrl"`
	ClientID     string   `json:"clientId"`
	ClientSecret string   `json:"clientSecret,omitempty"` // a reference; empty = a public client
	Audience     string   `json:"audience,omitempty"`
	Scopes       []string `json:"scopes,omitempty"`
	Grant        string   `json:"grant,omitempty"` // empty = tokenExchange
}

// UpstreamSettings returns the declarations of an upstream's settings, in order.
func UpstreamSettings() []toolfold.Param { return upstreamSettings.Param().Optional }

// Adopt sets fields from the members of another file's entry, except those that start or reach the
// server, or choose its login. It returns the names of the other members. If it returns an error for an invalid value,
// it sets nothing.
func (u *Upstream) Adopt(members map[string]any) (others []string, err error) {
	settings := UpstreamSettings()
	values := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		reaches := slices.Contains([]string{"command", "args", "env", "cwd", "url", "headers", "type",
			"login", "clientId", "clientSecret", "exchange"}, name)
		if reaches || !slices.ContainsFunc(settings, func(p toolfold.Param) bool { return p.Name == name }) {
			others = append(others, name)
		} else {
			values[name] = members[name]
		}
	}
	text, err := json.Marshal(values)
	if err != nil {
		return others, err
	}
	if err := unmarshal(text, &values); err != nil { // unifies the number types
		return others, err
	}
	for _, p := range validate.Fields(settings, values) {
		return others, errors.New(explain(dotted(p), p))
	}
	return others, json.Unmarshal(text, u)
}

// Params returns the declarations of settings, in order.
func Params(settings []Setting) []toolfold.Param {
	list := make([]toolfold.Param, len(settings))
	for i, s := range settings {
		list[i] = s.Param()
	}
	return list
}

// object declares a whole settings file.
func object(settings []Setting) toolfold.Param {
	return toolfold.Param{Kind: toolfold.KindObject, Optional: Params(settings)}
}

// rights describes who may change which settings, with types for those that clients may change.
func rights() string {
	var clients, local, user []string
	for _, s := range Settings {
		p := s.Param()
		typed := p.Name + " (" + entry.TypeWord(p) + ")"
		switch {
		case s.By >= Client:
			clients = append(clients, typed)
		case s.By >= Workspace:
			local = append(local, typed)
		default:
			user = append(user, p.Name)
		}
	}
	return "Clients may set " + strings.Join(clients, ", ") + "; with scope local also " + strings.Join(local, ", ") +
		". Only the user sets " + strings.Join(user, ", ") + "."
}

// narrowing lists the settings that a workspace's file can only restrict.
func narrowing(settings []Setting) []string {
	return slices.DeleteFunc(names(settings, Narrowing), func(name string) bool { return slices.Contains(names(settings, Workspace), name) })
}

// names lists the settings that a setter may change.
func names(settings []Setting, by Setter) []string {
	var list []string
	for _, s := range settings {
		if s.By >= by {
			list = append(list, s.Param().Name)
		}
	}
	return list
}
