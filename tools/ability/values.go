package ability

// RegisterIn are the arguments of ability.register.
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
	Registered bool   `json:"registered"`
	AbilityID  string `json:"abilityId"`
	Replaced   bool   `json:"replaced"`
	Message    string `json:"message"`
}

// GetIn are the arguments of ability.get.
type GetIn struct {
	AbilityID string `json:"abilityId"`
}

// ListIn are the arguments of ability.list.
type ListIn struct {
	Category string   `json:"category"`
	Tags     []string `json:"tags"`
	Enabled  *bool    `json:"enabled"` // nil = both
	Limit    int      `json:"limit"`
	Cursor   string   `json:"cursor"`
}

// ListOut is the result of ability.list.
type ListOut struct {
	Abilities  []Item   `json:"abilities"`
	Total      int      `json:"total"`
	HasMore    bool     `json:"hasMore"`
	NextCursor string   `json:"nextCursor,omitempty"`
	Broken     []Broken `json:"broken,omitempty"`
}

// Item is an ability as ability.list shows it.
type Item struct {
	AbilityID   string   `json:"abilityId"`
	DisplayName string   `json:"displayName,omitempty"`
	Description string   `json:"description,omitempty"`
	Category    string   `json:"category,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Priority    int      `json:"priority"`
	Enabled     bool     `json:"enabled"`
}

// Broken is a file that is no ability.
type Broken struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // zero = the file as a whole
	Reason string `json:"reason"`
}

// InjectIn are the arguments of ability.inject.
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
	AgentID           string    `json:"agentId"`
	InjectedAbilities []string  `json:"injectedAbilities"`
	CombinedContent   string    `json:"combinedContent"`
	TokenCount        int       `json:"tokenCount"`
	Truncated         bool      `json:"truncated"`
	LeftOut           []LeftOut `json:"leftOut,omitempty"`
}

// LeftOut is an ability that was asked for or fits, but is not in.
type LeftOut struct {
	AbilityID string `json:"abilityId"`
	Reason    string `json:"reason"`
}

// RemoveIn are the arguments of ability.remove.
type RemoveIn struct {
	AbilityID string `json:"abilityId"`
}

// RemoveOut is the result of ability.remove.
type RemoveOut struct {
	Removed   bool   `json:"removed"`
	AbilityID string `json:"abilityId"`
	Message   string `json:"message"`
}
