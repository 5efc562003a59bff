// Package policy holds rules for changes of a workspace, and checks changes against them.
//
// Policies are built in or in files of the workspace. The author of those files need not be the
// user: reading them is bounded, and their commands run only if the user trusts the workspace.
package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/internal/run/workspace"
)

// The gates.
const (
	PathViolation    = "path_violation"
	ChangeRadius     = "change_radius"
	Dependency       = "dependency"
	ContractTests    = "contract_tests"
	ConfigValidation = "config_validation"
	SensitiveChange  = "sensitive_change"
)

// allGates lists all gates.
var allGates = []string{PathViolation, ChangeRadius, Dependency, ContractTests, ConfigValidation, SensitiveChange}

// The units of a change radius.
const (
	ByDirectory = "directory"
	ByPackage   = "package"
)

// BuiltIn is the source of a policy that comes with toolfold.
const BuiltIn = "built-in"

// Policy is a set of rules for a change. Patterns are globs over paths in the
// workspace, with slashes.
type Policy struct {
	ID          string   `json:"policyId"`
	Description string   `json:"description"`
	Gates       []string `json:"gates"`

	Allowed   []string `json:"allowedPaths"` // empty = every path
	Forbidden []string `json:"forbiddenPaths"`

	Radius int    `json:"changeRadiusLimit"`
	By     string `json:"changeRadiusBy"`

	AllowedImports   []string `json:"allowedImports"` // empty = every import
	ForbiddenImports []string `json:"forbiddenImports"`

	Tests     Tests    `json:"contractTests"`
	Schemas   []Schema `json:"configSchemas"`
	Sensitive []string `json:"sensitivePaths"`

	File string `json:"-"` // path in the workspace; empty = built in
}

// Tests names the command of the gate contract_tests.
type Tests struct {
	Command   []string `json:"command"` // empty = the user's testCommand
	TimeoutMs int      `json:"timeoutMs"`
}

// Schema assigns a JSON Schema to files.
type Schema struct {
	Paths  []string `json:"paths"`
	Schema string   `json:"schema"` // path in the workspace
}

// Covers returns the gates, and the ids and descriptions of the built-in policies.
func Covers() []string {
	list := slices.Clone(allGates)
	for _, p := range builtIn {
		list = append(list, p.ID+": "+p.Description)
	}
	return list
}

// Has reports whether the policy has a gate.
func (p Policy) Has(gate string) bool { return slices.Contains(p.Gates, gate) }

// Source returns whether the policy is built in or in a file.
func (p Policy) Source() string {
	if p.File == "" {
		return BuiltIn
	}
	return workspace.InFile
}

// Target is the placeholder for the subject of a change, such as a provider.
const Target = "{{target}}"

// NeedsTarget reports whether a pattern contains the placeholder.
func (p Policy) NeedsTarget() bool {
	return slices.ContainsFunc(slices.Concat(p.Allowed, p.Forbidden, p.AllowedImports, p.ForbiddenImports, p.Sensitive),
		func(pattern string) bool {
			return strings.Contains(pattern, Target)
		})
}

// targets matches texts without special characters of globs.
var targets = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\p{L}\p{N}_@.+-]+(/[\p{L}\p{N}_@.+-]+)*$`)
})

// ValidTarget reports whether a text may replace the placeholder.
func ValidTarget(target string) bool {
	return targets().MatchString(target) && !slices.ContainsFunc(strings.Split(target, "/"), func(part string) bool {
		return strings.Trim(part, ".") == ""
	})
}

// For returns the policy with the placeholder replaced by target.
func (p Policy) For(target string) Policy {
	for _, patterns := range []*[]string{&p.Allowed, &p.Forbidden, &p.AllowedImports, &p.ForbiddenImports, &p.Sensitive} {
		filled := make([]string, len(*patterns))
		for i, pattern := range *patterns {
			filled[i] = strings.ReplaceAll(pattern, Target, target)
		}
		*patterns = filled
	}
	return p
}

// checkPattern returns an error unless pattern is a glob over paths in the workspace.
func checkPattern(pattern string) error {
	filled := strings.ReplaceAll(pattern, Target, "x")
	fault := scan.CheckGlob(filled)
	switch {
	case strings.Contains(filled, "{{"):
		return fmt.Errorf("%q has a placeholder other than %s", pattern, Target)
	case fault != nil:
		return fmt.Errorf("%q %w", pattern, fault)
	case strings.HasPrefix(filled, "/") || slices.Contains(strings.Split(filled, "/"), ".."):
		return fmt.Errorf("%q is not below the workspace", pattern)
	}
	return nil
}

// matches reports whether a path matches one of the patterns. A pattern that ends with a slash matches
// everything below.
func matches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		whole := strings.TrimPrefix(pattern, "./")
		if strings.HasSuffix(whole, "/") {
			whole += "**"
		}
		return doublestar.MatchUnvalidated(whole, path)
	})
}

// matchesFolded returns the first pattern that a path matches without regard to case, because some file systems ignore case and a
// forbidden path must not be reached by another spelling.
func matchesFolded(patterns []string, path string) (string, bool) {
	for _, pattern := range patterns {
		if matches([]string{strings.ToLower(pattern)}, strings.ToLower(path)) {
			return pattern, true
		}
	}
	return "", false
}

// guarded are the files that decide which programs run and who may do what.
var guarded = []string{".toolfold/**", ".github/**", ".gitlab-ci.yml", ".circleci/**", "**/contracts/**"}

// madeOrTests matches imports of build output and of tests.
var madeOrTests = []string{"./**/{node_modules,dist,build,__tests__}/**", "./**/*.{test,spec}", "./**/*.{test,spec}.*"}

// Commit is the policy that hooks check by default.
const Commit = "commit"

var builtIn = []Policy{{
	ID: Commit, Description: "Rules for any commit: valid configuration, no secrets.",
	Gates: []string{ConfigValidation, SensitiveChange},
}, {
	ID: "bugfix", Description: "A small repair: at most three folders, no contracts, no CI.",
	Gates: []string{PathViolation, ChangeRadius, SensitiveChange}, Forbidden: guarded, Radius: 3, By: ByDirectory,
}, {
	ID: "rebuild", Description: "A part made again behind the same contracts.",
	Gates:     []string{PathViolation, ChangeRadius, Dependency, ContractTests},
	Forbidden: guarded, Radius: 10, By: ByDirectory, ForbiddenImports: madeOrTests,
}, {
	ID: "provider-refactor", Description: "One provider, named by target, with its tests.",
	Gates:   []string{PathViolation, ChangeRadius, Dependency, ContractTests},
	Allowed: []string{"**/{{target}}/**", "**/{{target}}.*", "**/{{target}}_test.*", "**/test_{{target}}.*"}, Forbidden: guarded,
	Radius: 2, By: ByDirectory, ForbiddenImports: madeOrTests,
}, {
	ID: "config-change", Description: "Settings only, valid and without secrets.",
	Gates:     []string{PathViolation, ConfigValidation, SensitiveChange},
	Allowed:   []string{"**/*.{json,jsonc,yaml,yml,toml,ini,cfg,conf,properties}", "**/.*rc", "**/.env.example", "**/.editorconfig"},
	Forbidden: []string{".toolfold/policies/**", "**/contracts/**"},
	Sensitive: []string{".toolfold/**", ".github/**", ".gitlab-ci.yml", ".circleci/**"},
}}
