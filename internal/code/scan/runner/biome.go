package runner

import (
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
)

var biome = Runner{
	Name: "biome", Job: "lint scripts", Files: scripts,
	Config: []string{"biome.json", "biome.jsonc", `package.json:"@biomejs/biome"`, ".pre-commit-config.yaml:id: biome"},
	Args:   []string{"lint", "--reporter=github", "--max-diagnostics=none", "--no-errors-on-unmatched", "--"},
	Apart: &Isolation{
		Args:   []string{"lint", "--config-path={config}", "--reporter=github", "--max-diagnostics=none", "--no-errors-on-unmatched", "--"},
		Config: "{}\n", File: "biome.json",
	},
	Install: "npm install --save-dev @biomejs/biome",
	Count:   Count{Runes, 1, 1}, Read: readBiome,
	Bugs: map[string]string{"correctness": "logic-error", "suspicious": "logic-error", "security": "security", "performance": "performance",
		"nursery": "other"},
	Refactorings: map[string]string{"style": "other", "complexity": "simplify-conditional"},
}

var biomeLine = regex.Lazy(`^::(error|warning|notice) title=([^,]+),file=(.+),line=(\d+),endLine=\d+,col=(\d+),endColumn=\d+::(.*)$`)

// readBiome reads --reporter=github. The title is lint/GROUP/RULE; other titles mean that the file
// does not parse. No stable output format has fixes that are marked as safe.
func readBiome(output []byte) ([]Report, error) {
	return readLines(output, biomeLine(), func(m []string) Report {
		rule, named := strings.CutPrefix(m[2], "lint/")
		if !named {
			rule = ""
		}
		return Report{Rule: rule, File: m[3], At: at(m[4], m[5]), Word: m[1], Message: m[6]}
	})
}
