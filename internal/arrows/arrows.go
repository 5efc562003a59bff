// Package arrows holds the rules of who may import whom, and the test that
// keeps them.
package arrows

import "strings"

// module is the path of this module.
const module = "github.com/toolfold/toolfold/"

// mayImport lists the packages of this module that a package may import. A name
// stands for the package and, with a slash at its end, for all below it.
// Packages under internal/ without a rule of their own hold no domain:
// everybody may import them, and they import nothing of the module but each
// other.
var mayImport = map[string][]string{
	"tools":                     {},
	"tools/":                    {"tools", "internal/engine", "internal/engine/"},
	"tools/all":                 {"tools/", "tools", "call", "internal/engine", "internal/scan", "lazy"},
	"tools/task":                {"tools", "internal/engine"},
	"tools/queue":               {"tools", "tools/task"},
	"tools/timer":               {"tools", "tools/metrics"},
	"tools/telemetry":           {"tools", "tools/metrics"},
	"tools/session":             {"tools"},
	"tools/discovery":           {"tools", "lazy"},
	"tools/bugfix":              {"tools", "internal/scan"},
	"tools/refactor":            {"tools", "internal/scan"},
	"tools/guard":               {"tools", "tools/session", "internal/policy"},
	"tools/design":              {"tools", "tools/design/"},
	"tools/design/text":         {},
	"tools/design/api":          {"tools", "tools/design/text"},
	"tools/design/architecture": {"tools", "tools/design/text"},
	"tools/design/component":    {"tools", "tools/design/text"},
	"tools/design/schema":       {"tools", "tools/design/text"},
	"tools/tooltest":            {"tools", "call", "consolidate", "legacy", "lazy", "migration", "surface"},
	"call":                      {"tools"},
	"examples/":                 {"tools", "tools/discovery", "surface", "serve"},
	"consolidate":               {"tools"},
	"legacy":                    {"tools"},
	"lazy":                      {"tools", "call", "consolidate", "legacy"},
	"permission":                {"tools"},
	"migration":                 {"tools", "call", "consolidate", "legacy"},
	"surface":                   {"tools", "call", "consolidate", "legacy", "lazy"},
	"doctor":                    {"tools", "consolidate", "lazy", "surface"},
	"upstream":                  {},
	"docs":                      {"tools", "consolidate", "migration", "doctor", "surface", "lazy"},
	"serve":                     {"tools", "call", "consolidate", "legacy", "lazy", "permission", "surface", "internal/engine"},
	"cmd/toolfold": {"tools", "tools/", "call", "consolidate", "legacy", "lazy", "migration", "surface", "doctor", "docs",
		"upstream", "serve", "permission", "internal/storage", "internal/engine", "internal/engine/", "internal/telemetry"},

	"internal/attack":              {"tools", "tools/all"},
	"internal/engine":              {"tools"},
	"internal/telemetry":           {"tools", "tools/trace", "tools/metrics", "tools/queue", "tools/task", "call", "internal/engine"},
	"internal/engine/queue":        {"tools", "tools/task", "permission", "internal/engine"},
	"internal/scan":                {"tools", "internal/engine"},
	"internal/policy":              {"tools", "internal/engine", "internal/scan"},
	"internal/storage":             {"tools", "tools/", "internal/engine", "internal/engine/queue", "internal/scan"},
	"internal/storage/storagetest": {"tools", "tools/", "internal/storage", "internal/engine", "internal/engine/", "internal/scan"},
}

// onlyIn names the one package that may import a library.
var onlyIn = map[string]string{
	"github.com/mark3labs/mcp-go":        "serve",    // the protocol stays in one place
	"github.com/modelcontextprotocol":    "upstream", // a client, which no server needs
	"go.opentelemetry.io/otel/sdk":       "internal/telemetry",
	"go.opentelemetry.io/otel/exporters": "internal/telemetry",
}

// allowed reports whether a package may import another; both are paths in the
// module. known is false for a package without a rule.
func allowed(from, to string) (ok, known bool) {
	rules, known := rulesOf(from)
	if strings.HasPrefix(to, "internal/") {
		if _, ruled := mayImport[to]; !ruled {
			return true, known
		}
	}
	for _, rule := range rules {
		if to == rule || strings.HasSuffix(rule, "/") && strings.HasPrefix(to, rule) {
			return true, known
		}
	}
	return false, known
}

func rulesOf(from string) (rules []string, known bool) {
	if rules, known = mayImport[from]; known {
		return rules, true
	}
	for name, rules := range mayImport {
		if strings.HasSuffix(name, "/") && strings.HasPrefix(from, name) {
			return rules, true
		}
	}
	return nil, strings.HasPrefix(from, "internal/")
}
