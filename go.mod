module github.com/toolfold/toolfold

go 1.26.0

require (
	github.com/bmatcuk/doublestar/v4 v4.10.4 // globs
	github.com/coreos/go-oidc/v3 v3.21.0 // tokens of callers who log in
	github.com/dlclark/regexp2/v2 v2.5.1 // tests: the expression that splits texts into tokens
	github.com/expr-lang/expr v1.17.8 // conditions and placeholders
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // jsontext: one strict pass over arguments
	github.com/google/go-cmp v0.7.0 // differences, in tests and toolfoldtest
	github.com/google/uuid v1.6.0 // random ids, and ids that follow from content
	github.com/itchyny/gojq v0.12.20 // filters of results
	github.com/jackc/pgx/v5 v5.13.0 // PostgreSQL
	github.com/kljensen/snowball v0.10.0 // English stems
	github.com/mark3labs/mcp-go v1.2.1 // the protocol, both eras and transports
	github.com/mattn/go-runewidth v0.0.31 // columns of characters in a terminal, emoji and combining ones too, which x/text/width does not count
	github.com/modelcontextprotocol/go-sdk v1.8.0 // the client in upstream
	github.com/netresearch/go-cron v0.9.1 // times of schedules; the maintained fork of robfig/cron
	github.com/pelletier/go-toml/v2 v2.4.3 // configuration of clients and of others, with places
	github.com/pressly/goose/v3 v3.29.0 // schema steps
	github.com/prometheus/client_golang v1.25.0 // /metrics
	github.com/riverqueue/river v0.51.2 // jobs
	github.com/riverqueue/river/riverdriver/riverdatabasesql v0.51.2 // jobs in transactions of the store on PostgreSQL
	github.com/riverqueue/river/riverdriver/riverpgxv5 v0.51.2 // jobs on PostgreSQL
	github.com/riverqueue/river/riverdriver/riversqlite v0.51.2 // jobs on SQLite
	github.com/rogpeppe/go-internal v1.16.0 // locks between processes, differences of texts; tests: scripts
	github.com/ryanrolds/sqlclosecheck v0.6.0 // analysis of Go: rows and statements that stay open, which staticcheck has no check for
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // schemas that others wrote; mcp-go links it
	github.com/sashabaranov/go-openai v1.43.0 // OpenAI-compatible endpoints
	github.com/tdewolff/parse/v2 v2.8.20 // tokens of JavaScript
	github.com/tidwall/jsonc v0.3.3 // configuration with comments
	github.com/tiktoken-go/tokenizer v0.10.0 // tests: token counts to compare with, and the vocabulary
	github.com/urfave/cli/v2 v2.27.7 // commands, flags, environment
	github.com/yuin/goldmark v1.8.7 // pages in Markdown, with places
	github.com/zalando/go-keyring v0.2.8 // the keyrings of macOS, Windows and desktops with a Secret Service, without cgo
	go.opentelemetry.io/otel v1.47.0 // attributes and codes of spans, contexts of traces on the wire
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.47.0 // spans as OTLP has them; otlptracehttp would link gRPC, 5 MB
	go.opentelemetry.io/otel/sdk v1.47.0 // spans that are recorded
	go.opentelemetry.io/otel/trace v1.47.0 // spans as engine and queue start them
	go.opentelemetry.io/proto/otlp v1.11.1 // types of spans on the wire
	go.yaml.in/yaml/v3 v3.0.6 // YAML, with lines and columns in errors
	golang.org/x/mod v0.43.0 // go.mod and go.work of projects
	golang.org/x/net v0.62.0 // a listener with a limit; tests: tokens of HTML
	golang.org/x/oauth2 v0.38.0 // logins at upstream servers; go-sdk links it
	golang.org/x/sync v0.25.0 // semaphores, one of which waits for all calls with a deadline
	golang.org/x/term v0.48.0 // whether output is a terminal, and its size
	golang.org/x/text v0.44.0 // normal forms; words of what schemas lack
	golang.org/x/time v0.15.0 // rates of calls; River links it
	golang.org/x/tools v0.52.0 // analysis of Go; tests: archives of files
	google.golang.org/protobuf v1.36.12 // spans on the wire, and the answer to them
	honnef.co/go/tools v0.8.2 // analysis of Go
	modernc.org/libc v1.80.1 // memory and threads of libquickjs; SQLite links it
	modernc.org/libquickjs v0.14.0 // JavaScript; the wrapper modernc.org/quickjs hides unseen rejections, and its programs can catch errors of memory
	modernc.org/sqlite v1.62.0 // SQLite
	mvdan.cc/sh/v3 v3.14.1 // shell scripts, with places
)

require (
	github.com/BurntSushi/toml v1.5.0 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/danieljoos/wincred v1.2.3 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/go-jose/go-jose/v4 v4.1.4 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/godbus/dbus/v5 v5.2.2 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/itchyny/timefmt-go v0.1.9 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/kylelemons/godebug v1.1.0 // indirect
	github.com/lib/pq v1.12.3 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/mfridman/interpolate v0.0.2 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.23.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/riverqueue/river/riverdriver v0.51.2 // indirect
	github.com/riverqueue/river/rivershared v0.51.2 // indirect
	github.com/riverqueue/river/rivertype v0.51.2 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/segmentio/asm v1.2.1 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/sethvargo/go-retry v0.5.0 // indirect
	github.com/spf13/cast v1.7.1 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.2.0 // indirect
	github.com/tidwall/pretty v1.3.0 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	github.com/xrash/smetrics v0.0.0-20240521201337-686a1a2994c1 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/sys v0.50.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)
