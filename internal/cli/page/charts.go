package page

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// charts is the data of the view of figures by time.
type charts struct {
	Over   period
	Of     string    // server, family or action that is shown; empty = all calls
	Groups []figures // its parts: servers and families, or actions; empty for one action
	Left   int       // parts that are not shown
	Times  []figures // its calls by time
	Total  figures

	Recorded []any     // metrics that agents have recorded
	More     bool      // there are further ones, which can be named in the address
	Metric   *recorded // nil = no metric is chosen
}

// recorded is a metric by time.
type recorded struct {
	Name   string
	Figure string // of Value: mean, or grew by
	Times  []struct {
		From   time.Time
		Points int
		Value  *float64 // nil = no figure
	}
}

// mostGroups limits the servers, or actions, that the view names.
const mostGroups = 100

// charts shows calls and recorded metrics by time.
func (p *Page) charts(r *http.Request) (any, error) {
	query := r.URL.Query()
	at := max(0, slices.IndexFunc(periods[:], func(p period) bool { return p.Name == query.Get("over") }))
	v := charts{Over: periods[at], Of: strings.TrimSpace(query.Get("of"))}
	if !p.stored() {
		return v, nil
	}
	now := p.now().UTC()
	counts, err := p.counts[at].read(r.Context(), now, v.Over, p.activity)
	if err != nil {
		return nil, err
	}
	group, err := p.groups()
	if err != nil {
		return nil, err
	}
	v.take(counts, group, v.Over.since(now))
	answer, err := p.ask(r.Context(), "metrics.list", result{"limit": mostMetrics})
	if err := permitted(err); err != nil {
		return nil, err
	}
	v.Recorded, _ = answer["metrics"].([]any)
	v.More, _ = answer["hasMore"].(bool)
	if name := strings.TrimSpace(query.Get("metric")); name != "" {
		v.Metric, err = p.recorded(r.Context(), name, v.Over, now)
	}
	return v, err
}

// mostMetrics limits the recorded metrics that can be chosen.
const mostMetrics = 200

// groups returns a function that names the server of an action; for actions of toolfold, and of servers that are
// gone, their family.
func (p *Page) groups() (func(label string) string, error) {
	s, err := p.machine.read()
	if err != nil {
		return nil, err
	}
	servers := map[string]string{}
	for _, one := range s.Servers {
		for _, f := range one.Families {
			for _, a := range f.Actions {
				servers[a.FullName()] = one.Name
			}
		}
	}
	return func(label string) string {
		family, _, _ := strings.Cut(label, ".")
		return cmp.Or(servers[label], family)
	}, nil
}

// take sums the counts that are shown. since is the beginning of the period.
func (v *charts) take(counts []storage.Activity, group func(string) string, since time.Time) {
	counts = slices.DeleteFunc(slices.Clone(counts), func(a storage.Activity) bool {
		return v.Of != "" && a.Label != v.Of && group(a.Label) != v.Of
	})
	v.Times = make([]figures, v.Over.intervals)
	for i := range v.Times {
		v.Times[i].Hour = since.Add(time.Duration(i) * v.Over.every)
	}
	for _, count := range counts {
		i := int(count.Hour.Sub(since) / v.Over.every)
		if i >= 0 && i < len(v.Times) {
			v.Times[i].Add(count)
			v.Total.Add(count)
		}
	}
	v.Groups = byLabel(counts, func(a storage.Activity) string {
		if v.Of == "" {
			return group(a.Label)
		}
		return a.Label
	})
	if v.Of != "" && len(v.Groups) == 1 && v.Groups[0].Label == v.Of {
		v.Groups = nil
	}
	v.Left = max(0, len(v.Groups)-mostGroups)
	v.Groups = v.Groups[:len(v.Groups)-v.Left]
}

// recorded reads a metric by time: how much a counter grew, and the mean of others.
func (p *Page) recorded(ctx context.Context, name string, over period, now time.Time) (*recorded, error) {
	list, err := p.ask(ctx, "metrics.list", result{"prefix": name, "limit": 1}) // the name itself comes before longer ones
	if err != nil {
		return nil, err
	}
	m := &recorded{Name: name, Figure: "mean"}
	aggregation := "avg"
	if all, _ := list["metrics"].([]any); len(all) > 0 {
		if first, _ := all[0].(result); first["type"] == metric.Counter {
			aggregation, m.Figure = "sum", "grew by"
		}
	}
	answer, err := p.ask(ctx, "metrics.query", result{"metricName": name, "aggregation": aggregation, "bucket": over.every.String(),
		"since": over.since(now).Format(time.RFC3339), "limit": 1})
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(ordered.MustJSON(answer["figures"]), &m.Times)
}
