// Package guard declares the guard tool: policies for changes of files. guard.check checks changes
// by a policy. A policy applied to a session prevents forbidden writes by calls of that session.
//
// It is not a stable API: see docs/stability.md.
package guard

import (
	_ "embed"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/code/policy"
)

var (
	policyID     = policy.ID
	changedPaths = toolfold.List{Name: "changedPaths", Doc: "Files; absent or git = all changes.",
		Unclear: true, MinItems: 1, MaxItems: 1000, Of: toolfold.String{MaxLen: 500}}
	since = toolfold.String{Name: git.Ref.Name, Doc: "Branch, tag, commit, uncommitted, or staged: judges only changes.",
		Unclear: true, MinLen: 1, MaxLen: git.Ref.MaxLen}
	target    = toolfold.String{Name: "target", Doc: "Put in place of {{target}}.", MaxLen: 100}
	sessionID = toolfold.UUID("sessionId", "Active session.")
	limit     = toolfold.Int{Name: "limit", Doc: "Most policies to return.", Min: 1, Max: policy.MaxPolicies}
)

//go:embed asks.txt
var asksText string

// Family declares the guard tool.
var Family = toolfold.Family{
	Name: "guard", Summary: "Rules for file changes", Category: "code", Tier: toolfold.Standard,
	Words: "rules, gates, governance, compliance, restrictions, limits",
	Doc: "Policies are built in, or files in .toolfold/policies. Gates: path_violation, change_radius, dependency, contract_tests, " +
		"config_validation, sensitive_change.",
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:    "check",
		Legacy:  toolfold.OldNames{{Name: "guard_check", Required: toolfold.Fields{changedPaths}}},
		Summary: "Check changes since a commit against a policy; PASS, WARN or FAIL.",
		Covers:  policy.Covers,
		Words:   "validate, verify, uncommitted, secrets, allowed, before merge",
		Doc: "In uncommitted changes, or changes since a commit, imports and secrets are judged on new lines only, and older ones " +
			"counted; configuration files are judged whole. Binary files pass. contract_tests runs the policy's command on the files " +
			"as they are, in a trusted workspace. A check that could not run is WARN too. For a file named git, pass ./git.",
		Changed: "Files are read: imports, configuration and secrets are checked. changedPaths may hold git. An unknown " +
			"policy is POLICY_NOT_FOUND. Each gate has paths and a suggestion in place of details and of a list of suggestions.",
		Required:    toolfold.Fields{policyID},
		Optional:    toolfold.Fields{since.With(toolfold.Added()), changedPaths, target},
		Effect:      toolfold.Runs,
		Example:     `{"policyId": "bugfix", "changedPaths": ["src/cart.ts"]}`,
		Related:     []string{"guard.list", "guard.apply"},
		BecomesTask: true,
		Restrains:   true,
		Run:         toolfold.Method((*Service).Check),
	}, {
		Name:     "list",
		Legacy:   toolfold.Was("guard_list"),
		Summary:  "List policies, and files that cannot be used.",
		Words:    "which policies, rules, show, broken",
		Changed:  "Lists those in files too.",
		Optional: toolfold.Fields{limit.With(toolfold.Default(20))},
		Effect:   toolfold.Reads,
		Example:  `{"limit": 5}`,
		Related:  []string{"guard.check"},
		Run:      toolfold.Method((*Service).List),
	}, {
		Name:    "apply",
		Legacy:  toolfold.Was("guard_apply"),
		Summary: "Hold a session to a policy: its calls write no other files.",
		Words:   "enforce, restrict, bind, lock down, attach",
		Doc: "Holds for agents that run with the sessionId and for calls of connections that opened, joined or guarded the " +
			"session, until it ends. Path gates only. The policy is kept as it is now; apply it again after a change.",
		Changed:  "Calls of the session are held to the policy. Adds target.",
		Required: toolfold.Fields{sessionID, policyID},
		Optional: toolfold.Fields{target.With(toolfold.Added())},
		Effect:   toolfold.Sets,
		Example:  `{"sessionId": "11111111-1111-4111-8111-111111111111", "policyId": "bugfix"}`,
		Related:  []string{"guard.check", "session.create", "agent.run"},
		Run:      toolfold.Method((*Service).Apply),
		Enters:   true,
	}},
}
