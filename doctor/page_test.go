package doctor_test

import (
	"slices"
	"strings"
	"testing"

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

// A page shows what strange servers say of themselves, and does nothing of it.
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
	var page, again strings.Builder
	for _, to := range []*strings.Builder{&page, &again} {
		if err := (doctor.Whole{Inspection: in, Surfaces: own.Surfaces, Compared: &compared}).WritePage(to); err != nil {
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
		"no list: "} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if bars < 100 || strings.Contains(page.String(), "ZgotmplZ") {
		t.Errorf("%d bars", bars)
	}
}
