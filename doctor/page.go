package doctor

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"
	"time"
)

//go:embed page.html.tmpl
var pageText string

var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// Whole is everything that doctor finds out.
type Whole struct {
	Inspection
	Surfaces []Surface   `json:"surfaces,omitempty"` // toolfold's own
	Choices  []Choice    `json:"choices,omitempty"`  // of tier and fold
	Calls    []CallCost  `json:"calls,omitempty"`    // nil = they were not looked at
	Compared *Comparison `json:"compared,omitempty"` // nil = nothing was compared

	LegacyCalls []LegacyCall `json:"legacyCalls,omitempty"`

	Upstreams   []Upstream `json:"upstreams,omitempty"`   // of the settings; nil = they were not looked at
	TracedCalls *int       `json:"tracedCalls,omitempty"` // that were held against Upstreams; nil with them
}

// LegacyCall counts the calls of a legacy name by a client.
type LegacyCall struct {
	Name   string    `json:"name"`
	Client string    `json:"client"` // as it says itself; empty = it does not
	Calls  int64     `json:"calls"`
	Last   time.Time `json:"last"`
}

// WritePage writes a page of HTML with charts. It needs nothing from elsewhere
// and runs no scripts; names and texts of servers are escaped.
func (w Whole) WritePage(to io.Writer) error {
	if err := pageTemplate().Execute(to, page{w}); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// page has the methods that the template calls.
type page struct{ Whole }

// colours counts the parts of a bar that differ in colour.
const colours = 16

// Colours lists the colours of parts of bars.
func (page) Colours() []template.CSS {
	list := make([]template.CSS, colours)
	for i := range list {
		list[i] = template.CSS(fmt.Sprintf("hsl(%d 55%% %d%%)", (210+i*360*7/colours)%360, 42+i%3*12))
	}
	return list
}

// Colour returns the colour of the part at a place.
func (page) Colour(i int) int { return i % colours }

// Width returns a share in percent.
func (page) Width(n, largest int) float64 {
	return float64(int(10_000*float64(n)/float64(max(largest, 1)))) / 100
}

// MostSurface returns the tokens of the largest surface.
func (p page) MostSurface() int {
	largest := 0
	for _, s := range p.Surfaces {
		largest = max(largest, s.Total.Tokens)
	}
	return largest
}

// MostServer returns the tokens of the largest list.
func (p page) MostServer() int {
	largest := 0
	for _, s := range p.Servers {
		largest = max(largest, s.Tokens)
	}
	return largest
}

// MostTool returns the tokens of the parts of the largest tool of a server.
func (page) MostTool(s Server) int {
	largest := 0
	for _, t := range s.List {
		largest = max(largest, t.Parts.Name+t.Parts.Description+t.Parts.Schema)
	}
	return largest
}

// MostSent returns the most tokens that a host makes of a list.
func (page) MostSent(s Server) int {
	largest := 0
	for _, sent := range s.Sent {
		largest = max(largest, sent.Tokens)
	}
	return largest
}

// ByCost lists the tools, the dearest first.
func (s Server) ByCost() []ToolCost {
	list := slices.Clone(s.List)
	slices.SortStableFunc(list, func(a, b ToolCost) int { return b.Tokens - a.Tokens })
	return list
}
