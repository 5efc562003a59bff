package page

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/task"
)

// overview is the data of the first page.
type overview struct {
	Attention []attention
	Costs     []cost // of all servers, then of each set
	Day       day
}

// attention is something that needs the user.
type attention struct {
	Path, Name string // where to look, and its text
	Why, Text  string
	Bad        bool // it fails, rather than waits
}

// cost compares the tokens of a list with those of the servers as they are.
type cost struct {
	Name        string
	Before, Now int
	Servers     int
}

// costOf returns the cost of a list. Before counts toolfold's own tools too, because they would be listed
// whether or not the others are folded.
func costOf(name string, s doctor.SurfaceCost) cost {
	c := cost{Name: name, Now: s.Tokens, Before: s.Own.Tokens, Servers: s.Servers}
	if s.Raw != nil {
		c.Before += s.Raw.Tokens
	}
	return c
}

// Saved returns the percentage of tokens that folding saves.
func (c cost) Saved() int {
	if c.Before == 0 {
		return 0
	}
	return 100 * (c.Before - c.Now) / c.Before
}

// day counts the calls of the last 24 hours.
type day struct {
	Calls, Failed int
	Hours         []hour // 24, the present one last
	Most          int    // calls of the busiest hour
	Actions       []figures
}

// hour counts the calls that began in one hour.
type hour struct {
	At            time.Time
	Calls, Failed int
}

// figures count calls: of an action, of a server or of an interval, which begins at Hour.
type figures struct{ storage.Activity }

// Mean returns the mean duration of the calls that ended.
func (f figures) Mean() time.Duration { return f.Total / time.Duration(max(f.Ended, 1)) }

// byLabel sums calls by a label, most calls first. Calls with an empty label are left out.
func byLabel(counts []storage.Activity, label func(storage.Activity) string) []figures {
	sums := map[string]figures{}
	for _, count := range counts {
		f := sums[label(count)]
		f.Label = label(count)
		f.Add(count)
		sums[f.Label] = f
	}
	delete(sums, "")
	return slices.SortedFunc(maps.Values(sums), func(a, b figures) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Label, b.Label))
	})
}

func (p *Page) overview(r *http.Request) (any, error) {
	s, err := p.machine.read()
	if err != nil {
		return nil, err
	}
	o := overview{Costs: []cost{costOf("all servers", s.Served)}}
	if s.Served.Set != "" {
		o.Costs[0].Name = "the set in force, " + s.Served.Set
	}
	for _, set := range s.Sets {
		o.Costs = append(o.Costs, costOf("set "+set.Set, set))
	}
	for _, server := range s.Servers {
		path := "/servers/" + url.PathEscape(server.Name)
		if undecided := server.Undecided(); len(undecided) > 0 && server.State != stateOff {
			o.Attention = append(o.Attention, attention{path, server.Name, "has tools that are held back", heldNames(undecided), false})
		}
		if server.State == stateFails || server.State == stateUnknown {
			why := server.State
			if server.WantsLogin() {
				why = "wants a login"
			}
			o.Attention = append(o.Attention, attention{path, server.Name, why, server.Problem, server.State == stateFails})
		}
	}
	if len(s.LeftOut) > 0 {
		o.Attention = append(o.Attention, attention{Path: "/settings", Name: config.LocalFile, Why: "has settings that do not apply",
			Text: strings.Join(s.LeftOut, ", ")})
	}
	now := p.now().UTC()
	var counts []storage.Activity
	if p.stored() {
		if counts, err = p.counts[lastDay].read(r.Context(), now, periods[lastDay], p.activity); err != nil {
			return nil, err
		}
		work, err := p.openWork(r.Context())
		if err != nil {
			return nil, err
		}
		o.Attention = append(o.Attention, work...)
	}
	o.Day = dayOf(now.Truncate(time.Hour), counts)
	return o, nil
}

// maxAttention limits the tasks, and the hand-overs, that the overview names.
const maxAttention = 10

// openWork lists tasks with questions, tasks that are stuck or paused, and sessions that were handed over.
func (p *Page) openWork(ctx context.Context) (all []attention, err error) {
	inquiries, err := p.asks.Inquiries(ctx, maxAttention)
	if err != nil {
		return nil, err
	}
	for _, i := range inquiries {
		all = append(all, attention{Path: "/tasks/" + url.PathEscape(i.TaskID), Name: i.Name,
			Why: "has " + english.Count(i.Questions, "question", "questions") + " for you"})
	}
	stuck, err := p.asks.Stuck(ctx, maxAttention)
	if err != nil {
		return nil, err
	}
	for _, s := range stuck {
		a := attention{Path: "/tasks/" + url.PathEscape(s.TaskID), Name: s.Name, Bad: true,
			Why: "stopped: a call may have been done, or waits for your answer"}
		switch {
		case s.Lacks != "":
			a.Why, a.Text, a.Bad = "waits for a server whose folder has what it runs", s.Lacks, false
		case s.Place != "":
			a.Why, a.Text, a.Bad = "waits for a process that runs the tasks of", s.Place, false
		}
		all = append(all, a)
	}
	for _, q := range []struct {
		action, of, id, name, path, why string
		arguments                       result
	}{
		{"task.list", "tasks", "taskId", "name", "/tasks", "is paused", result{"status": []string{task.Paused}, "limit": maxAttention}},
		{"session.list", "sessions", "sessionId", "task", "/sessions", "was handed over",
			result{"status": work.SessionActive, "limit": maxAttention}},
	} {
		answer, err := p.ask(ctx, q.action, q.arguments)
		if err := permitted(err); err != nil {
			return nil, err
		}
		list, _ := answer[q.of].([]any)
		count := 0
		for _, one := range list {
			entry, _ := one.(result)
			if entry["handover"] == nil && q.of == "sessions" { // those that were handed over come first
				break
			}
			count++
			all = append(all, attention{Path: q.path + "/" + shown(entry[q.id]), Name: shown(entry[q.name]), Why: q.why})
		}
		if count == maxAttention && answer["hasMore"] == true {
			all = append(all, attention{Path: q.path, Name: q.of, Why: "has more of these"})
		}
	}
	return all, nil
}

// period is the time that figures are of: the last intervals of one length, the present one included.
type period struct {
	Name      string
	every     time.Duration
	intervals int
}

// periods are those of the charts. The overview has the first.
var periods = [...]period{{"day", time.Hour, 24}, {"week", 3 * time.Hour, 56}, {"month", 12 * time.Hour, 60}}

const lastDay = 0 // index in periods

// since returns the beginning of the period that ends now.
func (p period) since(now time.Time) time.Time {
	return now.Truncate(p.every).Add(-time.Duration(p.intervals-1) * p.every)
}

// counts caches the counts of the calls that began some minutes ago, because a busy day has many calls.
type counts struct {
	mu           sync.Mutex
	since, until time.Time          // of the cached calls; zero before the first use
	ended        []storage.Activity // by intervals of the period
}

const (
	settling = 2 * time.Minute // after a call has begun, until it is counted in the cache
	lifetime = 5 * time.Minute // of the cache: then all is counted again, since runs may have ended meanwhile
)

// read returns the counts of a period, which is the same one in every call, by its intervals or shorter ones. activity
// counts the calls from a time to another by hour, to the present if that is zero.
func (c *counts) read(ctx context.Context, now time.Time, p period,
	activity func(ctx context.Context, since, until time.Time) ([]storage.Activity, error)) ([]storage.Activity, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, until := p.since(now), now.Add(-settling).Truncate(lifetime)
	if c.since.Equal(since) && c.until.Equal(until) {
		recent, err := activity(ctx, until, time.Time{})
		return slices.Concat(c.ended, recent), err
	}
	before, err := activity(ctx, since, until)
	if err != nil {
		return nil, err
	}
	recent, err := activity(ctx, until, time.Time{})
	if err != nil {
		return nil, err
	}
	c.since, c.until, c.ended = since, until, nil
	at := map[storage.Activity]int{} // index in c.ended, by interval and label
	for _, a := range before {
		a.Hour = a.Hour.Truncate(p.every)
		key := storage.Activity{Hour: a.Hour, Label: a.Label}
		if i, known := at[key]; known {
			c.ended[i].Add(a)
		} else {
			at[key] = len(c.ended)
			c.ended = append(c.ended, a)
		}
	}
	return slices.Concat(c.ended, recent), nil
}

// dayOf sums the counts of the 24 hours up to the hour of now.
func dayOf(now time.Time, counts []storage.Activity) day {
	d := day{Hours: make([]hour, 24)}
	for i := range d.Hours {
		d.Hours[i].At = now.Add(time.Duration(i-23) * time.Hour)
	}
	within := func(a storage.Activity) string {
		if a.Hour.Before(d.Hours[0].At) || a.Hour.After(now) {
			return ""
		}
		return a.Label
	}
	for _, count := range counts {
		if within(count) == "" {
			continue
		}
		h := &d.Hours[int(count.Hour.Sub(d.Hours[0].At)/time.Hour)]
		h.Calls += count.Calls
		h.Failed += count.Failed
		d.Calls += count.Calls
		d.Failed += count.Failed
		d.Most = max(d.Most, h.Calls)
	}
	d.Actions = byLabel(counts, within)
	return d
}
