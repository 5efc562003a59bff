package ability

import (
	"github.com/toolfold/toolfold/internal/run/workspace"

	"github.com/toolfold/toolfold"
)

// RegisterIn holds the arguments of ability.register.
type RegisterIn struct {
	AbilityID    string   `json:"abilityId"`
	Content      string   `json:"content"`
	DisplayName  string   `json:"displayName"`
	Description  string   `json:"description"`
	Category     string   `json:"category"`
	Tags         []string `json:"tags"`
	ApplicableTo []string `json:"applicableTo"`
	ExcludeFrom  []string `json:"excludeFrom"`
	Priority     int      `json:"priority"`
	Enabled      bool     `json:"enabled"`
	Requires     []string `json:"requires"`
	Conflicts    []string `json:"conflicts"`
}

// RegisterOut is the result of ability.register.
type RegisterOut struct {
	Registered bool   `json:"registered" doc:"True."`
	AbilityID  string `json:"abilityId" doc:"Ability ID."`
	Replaced   bool   `json:"replaced" doc:"Whether one was replaced."`
	Message    string `json:"message" doc:"The outcome in words."`
}

// GetIn holds the arguments of ability.get.
type GetIn struct {
	AbilityID string `json:"abilityId"`
}

// ListIn holds the arguments of ability.list.
type ListIn struct {
	Category string   `json:"category"`
	Tags     []string `json:"tags"`
	Enabled  *bool    `json:"enabled"` // nil = both
	toolfold.Page
}

// ListOut is the result of ability.list.
type ListOut struct {
	Abilities []Item `json:"abilities" doc:"Highest priority first."`
	Total     int    `json:"total" doc:"Abilities that match, on all pages."`
	toolfold.Paged
	Broken []workspace.BrokenFile `json:"broken,omitempty" doc:"Files that are no abilities."`
}

// Item is an ability in ability.list, with a shortened description.
type Item struct {
	AbilityID   string   `json:"abilityId" doc:"Ability ID."`
	DisplayName string   `json:"displayName,omitempty" doc:"Title."`
	Description string   `json:"description,omitempty" doc:"Summary."`
	Category    string   `json:"category,omitempty" doc:"Subject."`
	Tags        []string `json:"tags,omitempty" doc:"Labels; any one matches."`
	Priority    int      `json:"priority" doc:"Higher goes first."`
	Enabled     bool     `json:"enabled" doc:"Whether inject uses it."`
	// false or nil
	Trusted *bool `json:"trusted,omitempty" doc:"False if the user does not trust the workspace: it is not injected."`
}

// InjectIn holds the arguments of ability.inject.
type InjectIn struct {
	AgentID         string   `json:"agentId"`
	Task            string   `json:"task"`
	CoreAbilities   []string `json:"coreAbilities"`
	MaxAbilities    int      `json:"maxAbilities"`
	MaxTokens       int      `json:"maxTokens"`
	IncludeMetadata bool     `json:"includeMetadata"`
}

// InjectOut is the result of ability.inject.
type InjectOut struct {
	AgentID           string            `json:"agentId" doc:"Agent the texts are for."`
	InjectedAbilities []string          `json:"injectedAbilities" doc:"IDs in the order of their texts."`
	Injected          []InjectedAbility `json:"injected,omitempty" doc:"The same with cost and reason."`
	CombinedContent   string            `json:"combinedContent" doc:"The texts with rules between them."`
	TokenCount        int               `json:"tokenCount" doc:"o200k tokens of combinedContent."`
	Truncated         bool              `json:"truncated" doc:"Whether maxTokens kept one out."`
	LeftOut           []LeftOut         `json:"leftOut,omitempty" doc:"Those asked for or near, but not in; at most 20."`
}

// InjectedAbility is an injected ability.
type InjectedAbility struct {
	AbilityID string  `json:"abilityId" doc:"Ability ID."`
	Tokens    int     `json:"tokens" doc:"Tokens of its text."`
	Reason    string  `json:"reason" doc:"Why."`
	Score     float64 `json:"score,omitempty" doc:"0 to 1; 0.5 fits the task."` // absent if it does not depend on the task
}

// LeftOut is an ability that was requested or fits, but was not injected.
type LeftOut struct {
	AbilityID string  `json:"abilityId" doc:"Ability ID."`
	Reason    string  `json:"reason" doc:"Why."`
	Score     float64 `json:"score,omitempty" doc:"0 to 1; 0.5 fits the task."`
}

// RemoveIn holds the arguments of ability.remove.
type RemoveIn struct {
	AbilityID string `json:"abilityId"`
}

// RemoveOut is the result of ability.remove.
type RemoveOut struct {
	Removed   bool   `json:"removed" doc:"Whether one was removed."`
	AbilityID string `json:"abilityId" doc:"Ability ID."`
	Message   string `json:"message" doc:"The outcome in words."`
}
