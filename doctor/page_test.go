package doctor_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/agent"
	"github.com/toolfold/toolfold/tools/bugfix"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/design"
	"github.com/toolfold/toolfold/tools/guard"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/metrics"
	"github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/refactor"
	"github.com/toolfold/toolfold/tools/session"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/trace"
	"github.com/toolfold/toolfold/tools/workflow"
)

// A server's texts have no effect in a pull request comment.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	const hostile = "a|b\n\n# title <img src=x> @someone #12 https://example.com www.example.com [x](y) `c` **b** ![i](u)"
	l := read(t, `[`+strings.Replace(goodTool, "delete_note", `delete|all*`, 1)+`]`)
	l.Server = hostile
	report := doctor.FullReport{Version: "v9", Date: time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC), Inspection: inspect(t, l)}
	var b strings.Builder
	if err := report.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(gmhtml.WithUnsafe())).
		Convert([]byte(b.String()), &page); err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"<img", "<a ", "<h1", "<strong>b", "<code>c", "@someone", "#12"} {
		if strings.Contains(page.String(), not) {
			t.Errorf("%q has an effect:\n%s", not, page.String())
		}
	}
	for _, want := range []string{"<h3", "<td>delete|all*</td>", "<code>name-characters</code>", "<summary>", "toolfold v9, 2026-02-03"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing:\n%s", want, page.String())
		}
	}
}

// No two families have the same colour on a page.
func TestColoursDiffer(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	if err := (doctor.FullReport{}).WritePage(&page); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, colour := range regexp.MustCompile(`hsl\([^)]*\)`).FindAllString(page.String(), -1) {
		if seen[colour] {
			t.Errorf("%s is there twice", colour)
		}
		seen[colour] = true
	}
	if len(seen) < 20 {
		t.Errorf("%d colours", len(seen))
	}
}

// A page shows the texts of hostile servers without executing them.
func TestPage(t *testing.T) {
	t.Parallel()
	const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"'`
	l := read(t, `{"tools":[`+goodTool+`,`+strings.Replace(goodTool, "delete_note", `<script src=//x>`, 1)+`]}`)
	l.Server, l.Host = hostile, "cursor"
	broken := doctor.List{Server: "broken", Host: "cursor", Problem: hostile}
	own, err := doctor.Measure([]*toolfold.Family{
		toolfoldtest.Mount(t, memory.Family, &memory.Service{}), toolfoldtest.Mount(t, session.Family, &session.Service{}),
		toolfoldtest.Mount(t, task.Family, &task.Service{}), toolfoldtest.Mount(t, queue.Family, &queue.Service{}),
		toolfoldtest.Mount(t, agent.Family, &agent.Service{}), toolfoldtest.Mount(t, ability.Family, &ability.Service{}),
		toolfoldtest.Mount(t, workflow.Family, &workflow.Service{}), toolfoldtest.Mount(t, design.Family, &design.Service{}),
		toolfoldtest.Mount(t, config.Family, &config.Service{}), toolfoldtest.Mount(t, guard.Family, &guard.Service{}),
		toolfoldtest.Mount(t, bugfix.Family, &bugfix.Service{}), toolfoldtest.Mount(t, refactor.Family, &refactor.Service{}),
		toolfoldtest.Mount(t, metrics.Family, &metrics.Service{}), toolfoldtest.Mount(t, trace.Family, &trace.Service{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	compared, err := doctor.Compare(read(t, `[]`), l)
	if err != nil {
		t.Fatal(err)
	}
	in := inspect(t, l, broken, read(t, `[`+goodTool+`]`))
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	var page, again strings.Builder
	for _, to := range []*strings.Builder{&page, &again} {
		if err := (doctor.FullReport{Version: "v9", Date: at, Inspection: in, Surfaces: own.Surfaces,
			Compared: &compared}).WritePage(to); err != nil {
			t.Fatal(err)
		}
	}
	if page.String() != again.String() {
		t.Error("the same report makes another page")
	}
	bars, text := 0, ""
	for z := html.NewTokenizer(strings.NewReader(page.String())); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		token := z.Token()
		switch {
		case kind == html.TextToken:
			text += token.Data
		case kind == html.StartTagToken:
			if slices.Contains([]string{"script", "img", "link", "iframe", "object", "base", "form"}, token.Data) {
				t.Errorf("%s", token)
			}
			for _, a := range token.Attr {
				if a.Key == "src" || a.Key == "href" || strings.HasPrefix(a.Key, "on") || strings.Contains(a.Val, "url(") {
					t.Errorf("%s", token)
				}
				if a.Key == "style" && strings.HasPrefix(a.Val, "width:") {
					bars++
				}
			}
		}
	}
	for _, want := range []string{"consolidated, lazy (default)", "delete_note", hostile, "name-characters", "added", "Gemini CLI",
		"no list: ", "toolfold v9, 2026-02-03 04:05 UTC", "% less than the "} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if bars < 100 || strings.Contains(page.String(), "ZgotmplZ") {
		t.Errorf("%d bars", bars)
	}
}
