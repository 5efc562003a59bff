package runner

import (
	"encoding/json"
	"strings"
)

var eslint = Runner{
	Name: "eslint", Job: "lint scripts", Files: scripts,
	Config: []string{"eslint.config.*", ".eslintrc*", `package.json:"eslintConfig"`, `package.json:"eslint"`,
		".pre-commit-config.yaml:id: eslint"},
	Args: []string{"--format", "json", "--no-error-on-unmatched-pattern", "--"},
	Apart: &Isolation{
		Args: []string{"--config", "{config}", "--format", "json", "--no-error-on-unmatched-pattern", "--"},
		File: "eslint.config.mjs", Config: eslintRules, AtRoot: true, Env: []string{"ESLINT_USE_FLAT_CONFIG=true"},
	},
	Install: "npm install --save-dev eslint",
	Count:   Count{UTF16, 1, 1}, Read: readESLint,
	Bugs: map[string]string{
		"": "other", "no-": "logic-error", "eqeqeq": "logic-error", "use-isnan": "logic-error", "for-direction": "logic-error",
		"no-eval": "security", "no-implied-eval": "security", "no-new-func": "security", "security/": "security",
		"require-atomic-updates": "concurrency", "no-await-in-loop": "performance", "@typescript-eslint/no-unsafe": "type-error",
		"@typescript-eslint/no-floating-promises": "concurrency", "@typescript-eslint/no-misused-promises": "concurrency",
	},
	Refactorings: map[string]string{
		"prefer-": "modernize-syntax", "no-var": "modernize-syntax", "no-nested-ternary": "simplify-conditional",
		"no-unneeded-ternary": "simplify-conditional", "no-else-return": "simplify-conditional", "no-magic-numbers": "extract-variable",
		"complexity": "extract-function", "max-": "extract-function", "camelcase": "rename", "import": "optimize-imports",
		"sort-imports": "optimize-imports", "no-console": "other", "no-unused-vars": "other", "object-shorthand": "modernize-syntax",
		"@typescript-eslint/no-explicit-any": "improve-types", "@typescript-eslint/prefer-": "modernize-syntax",
		"@typescript-eslint/consistent-type": "improve-types",
	},
}

// eslintRules is a configuration without imports: the rules for JavaScript that find faults.
// TypeScript needs a parser, which only projects have.
const eslintRules = `export default [{ files: ["**/*.js", "**/*.jsx", "**/*.mjs", "**/*.cjs"],
  languageOptions: { parserOptions: { ecmaFeatures: { jsx: true } } }, rules: Object.fromEntries(["constructor-super", "for-direction",
  "getter-return", "no-async-promise-executor", "no-class-assign", "no-compare-neg-zero", "no-cond-assign", "no-const-assign",
  "no-constant-binary-expression", "no-debugger", "no-dupe-args", "no-dupe-class-members", "no-dupe-else-if", "no-dupe-keys",
  "no-duplicate-case", "no-eval", "no-ex-assign", "no-fallthrough", "no-func-assign", "no-import-assign", "no-loss-of-precision",
  "no-obj-calls", "no-self-assign", "no-setter-return", "no-sparse-arrays", "no-this-before-super", "no-unreachable",
  "no-unsafe-finally", "no-unsafe-negation", "no-unsafe-optional-chaining", "use-isnan", "valid-typeof"].map(rule => [rule, "error"])) }];
`

// readESLint reads --format json. Severity 2 is an error. A message without a rule means that the
// file does not parse, or that the project ignores it; versions before 9 cannot leave out ignored
// files.
func readESLint(output []byte) ([]Report, error) {
	var files []struct {
		FilePath string
		Messages []struct {
			RuleID       *string `json:"ruleId"`
			Severity     int
			Message      string
			Line, Column int
			Fix          *struct {
				Range [2]int
				Text  string
			}
		}
	}
	if err := json.Unmarshal(output, &files); err != nil {
		return nil, err
	}
	var list []Report
	for _, file := range files {
		for _, m := range file.Messages {
			r := Report{File: file.FilePath, At: Place{Line: m.Line, Column: m.Column}, Word: "warning", Message: m.Message}
			if m.RuleID == nil && strings.HasPrefix(m.Message, "File ignored ") {
				continue
			}
			if m.RuleID != nil {
				r.Rule = *m.RuleID
			}
			if m.Severity == 2 {
				r.Word = "error"
			}
			if m.Fix != nil {
				r.Fix = []Edit{{Place{Column: m.Fix.Range[0], Whole: true}, Place{Column: m.Fix.Range[1], Whole: true}, m.Fix.Text}}
			}
			list = append(list, r)
		}
	}
	return list, nil
}
