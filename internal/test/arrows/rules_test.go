// Package arrows has the rules for imports between packages, and their test. They apply to both
// modules, the product and e2e.
package arrows

import (
	"path"
	"slices"
	"strings"
)

// module is the path of the product's module, and the beginning of e2e's path.
const module = "github.com/toolfold/toolfold"

// mayImport lists the packages of this module that a package may import. A name with a slash at its
// end includes all packages below it; "." is the root package. A rule for a package overrides the
// rule for its folder.
var mayImport = map[string][]string{
	".": {
		"internal/call/callctx", "internal/call/judge", "internal/text/jsonx", "internal/text/ordered", "internal/text/pattern",
		"internal/text/regex", "internal/text/shorten", "internal/text/suggest",
	},
	"entry":           {".", "internal/"},
	"tools/":          {".", "ask", "entry", "internal/"},
	"call":            {".", "entry", "internal/"},
	"permission":      {".", "internal/"},
	"consolidate":     {".", "entry", "internal/"},
	"legacy":          {".", "entry", "internal/"},
	"lazy":            {".", "entry", "internal/", "consolidate", "legacy"},
	"surface":         {".", "entry", "internal/", "call", "consolidate", "lazy", "legacy"},
	"migration":       {".", "entry", "internal/", "call", "consolidate", "legacy"},
	"migration/files": {".", "entry", "internal/", "consolidate", "migration"},
	"doctor":          {".", "internal/", "consolidate", "lazy", "surface"},
	"upstream":        {"internal/"},
	"upstream/pool":   {"internal/", "upstream"},
	"gateway":         {".", "internal/", "gateway/fold", "upstream"},
	"gateway/fold":    {"internal/text/regex"}, // a plan follows from names alone
	"ask":             {".", "internal/"},
	"content":         {".", "internal/text/ordered"},
	"serve":           {".", "entry", "internal/", "call", "consolidate", "content", "lazy", "permission", "surface"},
	"toolfoldtest": {".", "entry", "internal/", "call", "consolidate", "internal/test/golden", "lazy", "legacy", "migration",
		"surface"},
	"examples":  {},
	"examples/": {".", "ask", "content", "gateway", "serve", "upstream"},
	"cmd/":      {"internal/cli"},

	// A separate module, which tests and measures.
	"e2e/":            {"e2e/product"},
	"e2e/attack":      {".", "e2e/product", "entry", "internal/", "internal/app", "internal/storage", "serve", "tools/"},
	"e2e/bench":       {"e2e/bench/plain", "e2e/product", "internal/text/regex"},
	"e2e/conformance": {".", "ask", "content", "lazy", "serve", "surface"}, // as somebody else's server
	"e2e/folds":       {"doctor", "gateway", "gateway/fold", "lazy", "surface", "upstream"},
	"e2e/planted":     {"e2e/product", "internal/code/scan"},
	"e2e/vectors":     {"internal/text/words"},

	// Packages under the families, lowest first.
	"internal/text/":         {"internal/text/"},
	"internal/system/":       {"internal/system/", "internal/text/"},
	"internal/call/":         {".", "internal/call/", "internal/system/", "internal/text/"},
	"internal/run/":          {".", "entry", "internal/call/", "internal/run/", "internal/system/", "internal/text/"},
	"internal/run/script":    {".", "ask", "entry", "internal/call/", "internal/run/", "internal/text/"}, // scripts ask the user
	"internal/code/":         {".", "internal/call/", "internal/code/", "internal/run/", "internal/system/", "internal/text/"},
	"internal/test/":         {"internal/test/testwait"},
	"internal/test/notetest": {"."},

	// The whole application for tests; see [overApplication].
	"internal/test/workbench": {".", "entry", "internal/", "internal/app", "internal/storage", "internal/storage/queue", "surface",
		"tools/"},

	// Packages of the program itself, above the families, see [application].
	"internal/app":           {".", "call", "internal/", "internal/app/", "internal/storage", "lazy", "permission", "serve", "tools/"},
	"internal/app/offer":     {".", "call", "content", "internal/", "lazy", "serve", "tools/"},
	"internal/app/telemetry": {".", "call", "entry", "internal/", "tools/queue", "tools/trace"},
	"internal/app/trust":     {"internal/system/safefile"},
	"internal/storage":       {".", "internal/", "internal/storage/queue", "tools/"},
	"internal/storage/":      {".", "internal/", "internal/storage", "internal/storage/queue", "tools/"},
	"internal/storage/queue": {".", "entry", "internal/", "permission", "serve", "tools/task"},

	// The commands: first shared packages, lowest first, then the groups, which do not import each
	// other.
	"internal/cli/screen":     {"internal/text/ordered"},
	"internal/cli/env":        {".", "internal/", "internal/cli/screen"},
	"internal/cli/heap":       {"internal/"},
	"internal/cli/clientfile": {"internal/", "internal/storage"},
	"internal/cli/settings": {".", "internal/", "internal/app", "internal/app/trust", "internal/cli/env", "internal/storage",
		"tools/", "consolidate", "entry", "lazy", "permission", "serve", "surface"},
	"internal/cli/hooks": {"internal/", "internal/cli/settings"},
	"internal/cli/servers": {".", "internal/", "internal/app", "internal/cli/clientfile", "internal/cli/env",
		"internal/cli/settings", "internal/storage", "tools/", "doctor", "gateway", "gateway/fold", "surface", "upstream",
		"upstream/pool"},
	"internal/cli/connect": {"gateway", "internal/", "internal/cli/issuer", "upstream"},
	"internal/cli/issuer":  {".", "internal/", "permission", "serve"},
	"internal/cli/workbench": {".", "internal/", "internal/app", "internal/app/", "internal/cli/connect", "internal/cli/env",
		"internal/cli/issuer",
		"internal/cli/servers", "internal/cli/settings", "internal/storage", "internal/storage/queue", "tools/", "call",
		"consolidate", "doctor", "entry", "gateway", "lazy", "permission", "serve", "surface", "upstream"},
	"internal/cli/docs": {".", "consolidate", "doctor", "migration", "surface"},
	"internal/cli/call": {".", "internal/", "internal/app", "internal/cli/env", "internal/cli/screen",
		"internal/cli/settings", "internal/cli/workbench", "internal/storage", "tools/", "call", "doctor", "entry", "lazy",
		"surface"},
	"internal/cli/doctor": {".", "internal/", "internal/app", "internal/cli/clientfile", "internal/cli/env",
		"internal/cli/servers", "internal/cli/settings", "internal/cli/workbench", "internal/storage", "tools/", "doctor",
		"gateway", "lazy", "surface", "upstream"},
	"internal/cli/machine": {".", "internal/", "internal/app", "internal/app/trust", "internal/cli/env",
		"internal/cli/hooks", "internal/cli/screen", "internal/cli/servers", "internal/cli/settings",
		"internal/cli/workbench", "internal/storage", "tools/config", "tools/guard", "doctor", "lazy", "permission",
		"surface"},
	"internal/cli/migrate": {"internal/", "internal/app", "internal/cli/docs", "internal/cli/env", "consolidate",
		"migration", "migration/files"},
	"internal/cli/page": {".", "internal/", "internal/cli/env", "internal/cli/servers", "internal/cli/settings",
		"internal/cli/workbench", "internal/storage", "tools/config", "tools/memory", "tools/session", "tools/task",
		"tools/trace", "doctor", "gateway", "serve"},
	"internal/cli/scaffold": {"examples", "internal/cli/env"},
	"internal/cli/serve": {"internal/", "internal/cli/env", "internal/cli/heap", "internal/cli/settings",
		"internal/cli/workbench", "serve", "surface"},
	"internal/cli/setup": {"internal/", "internal/cli/clientfile", "internal/cli/env", "internal/cli/hooks",
		"internal/cli/servers", "internal/cli/settings"},
	"internal/cli/upstream": {".", "internal/", "internal/app", "internal/cli/clientfile", "internal/cli/env",
		"internal/cli/heap", "internal/cli/screen", "internal/cli/servers", "internal/cli/settings", "internal/cli/workbench",
		"tools/config", "doctor", "entry", "gateway", "serve", "surface", "upstream", "upstream/pool"},
	"internal/cli": {".", "internal/", "internal/app", "internal/cli/", "tools/config"},

	// Families call each other's actions by name.
	"tools/design":  {".", "internal/", "tools/design/"},
	"tools/design/": {".", "internal/", "tools/design/text"},
}

// application lists the folders of the program itself and of shared test packages. They are under
// internal so that tests of families and the module e2e can import them. The rule "internal/" does
// not include them: only the command may import each of them. Their own imports are in their own
// rules.
var application = []string{"internal/app", "internal/cli", "internal/storage", "internal/test"}

// overApplication lists the packages whose tests may import internal/app or the workbench, because
// each such test binary links the whole program. A slash at the end includes all packages below.
// Tests of other packages open only the tested code, or use toolfoldtest.
var overApplication = []string{
	"call", "consolidate", "doctor", "lazy", "legacy", "migration", "migration/files", "permission", // what they make of our families
	"tools/memory", // export and import through the answers that clients get
	"internal/app", "internal/app/offer", "internal/app/served", "internal/app/telemetry", "internal/test/everyaction",
	"internal/cli", "internal/cli/", "e2e/attack", // they link it anyway
}

// runsOn lists the families whose services, arguments and results have types of the package under
// internal that they run on. Only the command uses these families. All other families have plain
// data in their signatures. internal/storage has the stores of both.
var runsOn = map[string][]string{
	"tools/ability":   {"workspace"},
	"tools/agent":     {"engine", "workspace"},
	"tools/bugfix":    {"scan"},
	"tools/guard":     {"policy", "workspace"},
	"tools/metrics":   {"metric"},
	"tools/refactor":  {"scan"},
	"tools/script":    {"script", "workspace"},
	"tools/telemetry": {"metric"},
	"tools/timer":     {"metric"},
	"tools/workflow":  {"engine", "workspace"},
}

// plain has servers for comparison in benchmarks. No server links it.
const plain = "e2e/bench/plain"

// onlyIn has the only package, apart from [plain], that may import a library.
var onlyIn = map[string]string{
	"github.com/mark3labs/mcp-go":        "serve",    // the protocol stays in one place
	"github.com/modelcontextprotocol":    "upstream", // a client, which no server needs
	"go.opentelemetry.io/otel/sdk":       "internal/app/telemetry",
	"go.opentelemetry.io/otel/exporters": "internal/app/telemetry",
	"modernc.org/libquickjs":             "internal/run/script/js/quickjs", // runs others' programs, in a process of its own
}

// forbidden lists forbidden dependencies, also indirect ones, of packages for other programs, because
// they would be part of every such program.
var forbidden = map[string][]string{
	"serve":        {engine, "github.com/expr-lang/expr", "go.yaml.in/yaml", "github.com/sashabaranov/go-openai"},
	"tools/config": {engine},
	"tools/queue":  {engine},
	"tools/task":   {engine},
	"toolfoldtest": {"github.com/pelletier/go-toml", "github.com/yuin/goldmark", "mvdan.cc/sh"}, // the tests of every author link it
}

const engine = module + "/internal/run/engine"

// allowed reports whether a package may import another; both are paths in the
// module. known is false for a package without a rule.
func allowed(from, to string) (ok, known bool) {
	rules, known := mayImport[from]
	for dir := from; !known && dir != "."; {
		dir = path.Dir(dir)
		rules, known = mayImport[dir+"/"]
	}
	if strings.HasPrefix(to, "internal/test/") { // for tests, which have no rules; a package needs the exact name in its rule
		return slices.Contains(rules, to), known
	}
	return slices.ContainsFunc(rules, func(rule string) bool {
		if rule != "internal/" {
			return to == rule || strings.HasSuffix(rule, "/") && strings.HasPrefix(to, rule)
		}
		return strings.HasPrefix(to, rule) && !slices.ContainsFunc(application, func(folder string) bool {
			return to == folder || strings.HasPrefix(to, folder+"/")
		})
	}), known
}
