package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/lazy"
)

// SurfaceCost holds the cost of the list that clients get, and the origin of its tools.
type SurfaceCost struct {
	Cost
	Own       Cost     `json:"own"`               // toolfold's own tools
	Folded    Cost     `json:"folded"`            // tools of other servers, as listed
	Servers   int      `json:"servers,omitempty"` // number of other servers with tools in the list
	Set       string   `json:"set,omitempty"`     // the set of other servers that is served; empty = all
	Raw       *Cost    `json:"raw,omitempty"`     // the original lists of these servers; nil = not counted
	HeldTools int      `json:"held,omitempty"`    // number of tools that wait for the user's approval
	Fails     []string `json:"fails,omitempty"`   // servers that cannot be used, or failed at the last attempt
	Unasked   []string `json:"unasked,omitempty"` // other servers that have never listed their tools
}

// CountSurface counts a list of the families' tools.
func CountSurface(list []lazy.ListedTool, families []*toolfold.Family) (SurfaceCost, error) {
	var s SurfaceCost
	for _, l := range list {
		cost, err := Count([]lazy.ListedTool{l})
		if err != nil {
			return s, err
		}
		s.Cost = s.Add(cost)
		if l.External {
			s.Folded = s.Folded.Add(cost)
		} else {
			s.Own = s.Own.Add(cost)
		}
	}
	var servers []string
	for _, f := range families {
		if f.Server != "" && len(f.Actions) > 0 && !slices.Contains(servers, f.Server) {
			servers = append(servers, f.Server)
		}
	}
	s.Servers = len(servers)
	return s, nil
}

// String returns a line such as "56 tools, 3,531 tokens: 18 of toolfold, 38 of 14 servers".
func (s SurfaceCost) String() string {
	text := fmt.Sprintf("%d tools, %s tokens", s.Tools, english.Grouped(s.Tokens))
	if s.Servers > 0 || s.Set != "" {
		text += fmt.Sprintf(": %d of toolfold, %d of %s", s.Own.Tools, s.Folded.Tools, english.Count(s.Servers, "server", "servers"))
		if s.Set != "" {
			text += " of the set " + s.Set
		}
		if s.Raw != nil {
			text += fmt.Sprintf(" (%s as they are)", english.Grouped(s.Raw.Tokens))
		}
	}
	if s.HeldTools > 0 {
		text += fmt.Sprintf("; %s held back", english.Count(s.HeldTools, "tool is", "tools are"))
	}
	if len(s.Fails) > 0 {
		text += fmt.Sprintf("; %s: %s", english.Count(len(s.Fails), "server fails", "servers fail"), strings.Join(s.Fails, ", "))
	}
	if len(s.Unasked) > 0 {
		text += fmt.Sprintf("; %s not listed tools yet: %s", english.Count(len(s.Unasked), "server has", "servers have"),
			strings.Join(s.Unasked, ", "))
	}
	return text
}
