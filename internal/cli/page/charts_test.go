package page

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage"
)

// TestChartsAreOfTheTimeAsked reads figures over each period, of all calls, of a server, of a family and of an action.
func TestChartsAreOfTheTimeAsked(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 30, 0, 0, time.UTC)
	var asked []string
	p, base, browser := served(t, func(action string, arguments json.RawMessage) (json.RawMessage, error) {
		asked = append(asked, action+" "+string(arguments))
		return map[string]json.RawMessage{
			"metrics.list": json.RawMessage(`{"metrics":[{"name":"hits","type":"counter"},{"name":"hits<b>","type":"gauge"}]}`),
			"metrics.query": json.RawMessage(`{"figures":[{"from":"2026-03-31T10:00:00Z","points":2,"value":0.5},
				{"from":"2026-03-31T11:00:00Z","points":1}]}`),
		}[action], nil
	})
	p.now = func() time.Time { return now }
	forge := &toolfold.Family{Name: "forge_issue", Server: "forge"}
	forge.Actions = []*toolfold.Action{{Name: "list", Family: forge}, {Name: "close", Family: forge}}
	p.machine.state.Servers = []server{{Name: "forge", State: stateReady, Families: []*toolfold.Family{forge}}}
	p.activity = func(_ context.Context, since, until time.Time) (all []storage.Activity, err error) {
		for _, a := range []storage.Activity{
			{Hour: now, Label: "forge_issue.list", Calls: 3, Failed: 1, Ended: 3, Total: 6 * time.Second, Longest: 4 * time.Second,
				TokensIn: 30, TokensOut: 5000},
			{Hour: now, Label: "memory.store", Calls: 1, Ended: 1, Total: time.Second, Longest: time.Second, TokensIn: 7, TokensOut: 8},
			{Hour: now.Add(-5 * 24 * time.Hour), Label: "forge_issue.close", Calls: 15},
			{Hour: now.Add(-5*24*time.Hour - time.Hour), Label: "forge_issue.close", Calls: 5},
			{Hour: now.Add(-29 * 24 * time.Hour), Label: "memory.get", Calls: 300},
		} {
			if a.Hour = a.Hour.Truncate(time.Hour); !a.Hour.Before(since) && (until.IsZero() || a.Hour.Before(until)) {
				all = append(all, a)
			}
		}
		return all, nil
	}
	fetch(t, browser, get(t, p.access.address()))
	for path, want := range map[string]struct {
		rows int
		has  []string
	}{
		"/charts": {24, []string{"4 calls, <span class=\"bad\">1 failed</span>, 1.75s in the mean; 37 tokens of arguments and 5,008 of " +
			"results", `of=forge&amp;over=day">forge</a>`, `of=memory&amp;over=day">memory</a>`}},
		"/charts?over=week":          {56, []string{"24 calls"}},
		"/charts?over=month":         {60, []string{"324 calls"}},
		"/charts?over=century":       {24, []string{"4 calls"}},
		"/charts?of=forge":           {24, []string{"3 calls", `of=forge_issue.list&amp;over=day">forge_issue.list</a>`}},
		"/charts?of=memory":          {24, []string{"1 call,", "none failed", `over=day">memory.store</a>`}},
		"/charts?of=memory.store":    {24, []string{"1 call,"}},
		"/charts?of=none":            {0, []string{"No call of it is recorded in this time"}},
		"/charts?metric=hits":        {26, []string{`<option value="hits" selected>`, `data-value="0.5">0.5`, `data-plot="grew by"`}},
		"/charts?metric=hits%3Cb%3E": {26, []string{`<option value="hits&lt;b&gt;" selected>`}},
	} {
		fetch(t, browser, get(t, base+path)) // then the hours that have ended are read from the cache
		asked = nil
		status, text := fetch(t, browser, get(t, base+path))
		if rows := strings.Count(text, `<tr><td class="t" data-value="`); status != http.StatusOK || rows != want.rows {
			t.Errorf("%s: %d with %d rows, want %d: %s", path, status, rows, want.rows, text)
		}
		for _, part := range want.has {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %s: %s", path, part, text)
			}
		}
		checkHTML(t, path, text)
		if path == "/charts?metric=hits" && !slices.Contains(asked,
			`metrics.query {"aggregation":"sum","bucket":"1h0m0s","limit":1,"metricName":"hits","since":"2026-03-30T13:00:00Z"}`) {
			t.Errorf("%s asked for %q", path, asked)
		}
		if path == "/charts?of=memory.store" && strings.Contains(text, `scope="col">action`) {
			t.Errorf("%s has a table of one action: %s", path, text)
		}
	}
	// The last row is of now, and intervals without calls have no durations.
	_, text := fetch(t, browser, get(t, base+"/charts"))
	rows := regexp.MustCompile(`<td class="t" data-value="(\d+)">[^<]*<td class="n" data-value="(\d+)">`).FindAllStringSubmatch(text, -1)
	if last := rows[len(rows)-1]; last[1] != "1774958400" || last[2] != "4" || strings.Count(text, `<td class="n">–<td class="n">–`) != 23 {
		t.Errorf("the last row is %v: %s", last, text)
	}
	p.stored = func() bool { return false }
	if status, text := fetch(t, browser, get(t, base+"/charts")); status != http.StatusOK || !strings.Contains(text, "No call is recorded") {
		t.Errorf("without a store: %d %s", status, text)
	}
}

// maxAssets limits the files that browsers load beside the views, in bytes.
const maxAssets = 400_000

// TestAssetsAreSmallAndOurs sums the embedded files, and loads those that a view names as a browser of the page would.
func TestAssetsAreSmallAndOurs(t *testing.T) {
	total := 0
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.HasPrefix(path, "templates/") {
			var text []byte
			text, err = files.ReadFile(path)
			total += len(text)
		}
		return err
	})
	if err != nil || total > maxAssets {
		t.Errorf("the page's files have %d bytes, more than %d: %v", total, maxAssets, err)
	}
	p, base, browser := served(t, func(string, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{}`), nil })
	fetch(t, browser, get(t, p.access.address()))
	answer, err := browser.Do(get(t, base+"/charts"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	for directive := range strings.SplitSeq(answer.Header.Get("Content-Security-Policy"), ";") {
		for _, source := range strings.Fields(directive)[1:] {
			if source != "'self'" && source != "'none'" {
				t.Errorf("the policy of the charts has %s", directive)
			}
		}
	}
	_, text := fetch(t, browser, get(t, base+"/charts"))
	named := regexp.MustCompile(`(?:src|<link [^>]*href)="([^"]*)"`).FindAllStringSubmatch(text, -1)
	if len(named) != 6 {
		t.Errorf("the charts load %v", named)
	}
	for _, one := range named {
		if u, err := url.Parse(one[1]); err != nil || u.Host != "" {
			t.Errorf("the charts load %s", one[1])
		}
		if status, text := fetch(t, browser, get(t, base+one[1])); status != http.StatusOK || len(text) == 0 {
			t.Errorf("%s: %d", one[1], status)
		}
	}
	if _, text := fetch(t, browser, get(t, base+"/calls")); strings.Contains(text, "uplot") {
		t.Error("another view loads the plots")
	}
	if status, _ := fetch(t, browser, get(t, base+"/uplot/")); status == http.StatusOK {
		t.Error("the folder is listed")
	}
}

// TestChartsSayWhatTheyLeaveOut shows more servers, and has more metrics, than the view names.
func TestChartsSayWhatTheyLeaveOut(t *testing.T) {
	p, base, browser := served(t, func(string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"metrics":[{"name":"hits","type":"counter"}],"hasMore":true}`), nil
	})
	now := time.Date(2026, 3, 31, 12, 30, 0, 0, time.UTC)
	p.now = func() time.Time { return now }
	p.activity = func(context.Context, time.Time, time.Time) (all []storage.Activity, err error) {
		for i := range mostGroups + 3 {
			all = append(all, storage.Activity{Hour: now.Truncate(time.Hour), Label: fmt.Sprintf("family%d.get", i), Calls: 1})
		}
		return all, nil
	}
	fetch(t, browser, get(t, p.access.address()))
	_, page := fetch(t, browser, get(t, base+"/charts"))
	for _, want := range []string{"3 more with fewer calls are not shown", "Not all recorded metrics can be chosen"} {
		if !strings.Contains(page, want) {
			t.Errorf("the view does not say: %s", want)
		}
	}
	checkHTML(t, "/charts", page)
}
