// Package arrows holds the rules of who may import whom, and the test that
// keeps them.
package arrows

import "strings"

// module is the path of this module.
const module = "github.com/toolfold/toolfold/"

// mayImport says which packages of this module a package may import. A name
// stands for the package and, with a slash at its end, for all below it.
// Packages under internal/ may be imported by everybody and import nothing of
// the module but each other.
var mayImport = map[string][]string{
	"tools":               {},
	"tools/":              {"tools", "engine", "engine/"},
	"tools/all":           {"tools/", "tools", "engine", "lazy"},
	"tools/discovery":     {"tools", "lazy"},
	"tools/tooltest":      {"tools", "consolidate", "legacy", "lazy", "migration"},
	"consolidate":         {"tools"},
	"legacy":              {"tools"},
	"lazy":                {"tools"},
	"migration":           {"tools", "consolidate"},
	"surface":             {"tools", "consolidate", "legacy", "lazy"},
	"doctor":              {"tools", "lazy", "surface"},
	"docs":                {"tools", "migration", "doctor", "surface", "lazy"},
	"storage":             {"tools/", "engine/queue"},
	"storage/storagetest": {"tools", "tools/", "storage", "engine", "engine/"},
	"engine":              {"tools"},
	"engine/queue":        {"tools", "engine"},
	"serve":               {"tools", "consolidate", "legacy", "lazy", "surface", "engine"},
	"cmd/toolfold": {"tools", "tools/", "consolidate", "legacy", "lazy", "migration", "surface", "doctor", "docs",
		"storage", "serve", "engine", "engine/"},
}

// onlyIn names the one package that may import a library.
var onlyIn = map[string]string{
	"github.com/mark3labs/mcp-go": "serve", // the protocol stays in one place
}

// allowed tells whether a package may import another; both are paths in the
// module. known is false for a package without a rule.
func allowed(from, to string) (ok, known bool) {
	if strings.HasPrefix(to, "internal/") {
		return true, true
	}
	rules, known := rulesOf(from)
	for _, rule := range rules {
		if to == rule || strings.HasSuffix(rule, "/") && strings.HasPrefix(to, rule) {
			return true, known
		}
	}
	return false, known
}

func rulesOf(from string) (rules []string, known bool) {
	if strings.HasPrefix(from, "internal/") {
		return nil, true
	}
	if rules, known = mayImport[from]; known {
		return rules, true
	}
	for name, rules := range mayImport {
		if strings.HasSuffix(name, "/") && strings.HasPrefix(from, name) {
			return rules, true
		}
	}
	return nil, false
}
