package docs

import (
	"fmt"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/design/architecture"
)

// Readme returns a README with the parts that follow from the declarations
// brought up to date. They stand between <!-- name: … --> and <!-- /name -->.
func Readme(readme string, specs []*toolfold.Family) (string, error) {
	costs, err := costTable(specs)
	if err != nil {
		return "", err
	}
	return renew(readme, map[string]string{"costs": costs, "tools": toolTable(specs), "tiers": tierTable(specs)})
}

// Code returns the page on code with the table of names that tell layers brought up to date.
func Code(page string) (string, error) {
	var b strings.Builder
	b.WriteString("| name | type |\n|---|---|\n")
	for _, l := range architecture.Layers() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.Join(l.Names, "`, `"), l.Type)
	}
	return renew(page, map[string]string{"layers": b.String()})
}

// renew puts parts of a page in place, by their names.
func renew(page string, parts map[string]string) (string, error) {
	for name, part := range parts {
		before, rest, ok := strings.Cut(page, "<!-- "+name+":")
		head, rest, closed := strings.Cut(rest, "-->\n")
		_, after, ended := strings.Cut(rest, "<!-- /"+name+" -->")
		if !ok || !closed || !ended {
			return "", fmt.Errorf("the page has no part %q", name)
		}
		page = before + "<!-- " + name + ":" + head + "-->\n" + part + "<!-- /" + name + " -->" + after
	}
	return page, nil
}

// costTable compares what the surfaces cost.
func costTable(specs []*toolfold.Family) (string, error) {
	var b strings.Builder
	b.WriteString("| what a client is shown | tools | tokens |\n|---|---:|---:|\n")
	for _, row := range []struct {
		name  string
		mode  surface.Mode
		level lazy.Level
	}{
		{"consolidated, listing `lazy` (the default)", surface.Consolidated, lazy.Lazy},
		{"consolidated, listing `search`", surface.Consolidated, lazy.Search},
		{"consolidated, listing `signature`", surface.Consolidated, lazy.Signature},
		{"consolidated, listing `full`", surface.Consolidated, lazy.Full},
		{"the same actions as one tool each (`--tool-mode=legacy`)", surface.Legacy, lazy.Full},
	} {
		cost, err := doctor.Count(surface.List(specs, surface.Options{Mode: row.mode, Level: row.level}))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| %s | %d | %s |\n", row.name, cost.Tools, english.Grouped(cost.Tokens))
	}
	return b.String(), nil
}

// toolTable lists the families with their actions.
func toolTable(specs []*toolfold.Family) string {
	var b strings.Builder
	b.WriteString("| tool | what it is | actions |\n|---|---|---|\n")
	for _, s := range specs {
		actions := strings.Join(s.ActionNames(), ", ")
		fmt.Fprintf(&b, "| [`%s`](docs/tools/%s.md) | %s | %s |\n", s.Name, s.Name, s.Summary, actions)
	}
	return b.String()
}

// tierTable lists the families that each tier adds.
func tierTable(specs []*toolfold.Family) string {
	var b strings.Builder
	b.WriteString("| `--tier` | lists |\n|---|---|\n")
	before := ""
	for _, tier := range []toolfold.Tier{toolfold.Core, toolfold.Standard, toolfold.Extended} {
		var names []string
		for _, s := range specs {
			if s.Tier == tier {
				names = append(names, s.Name)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s%s |\n", tier, before, strings.Join(names, ", "))
		before = "also "
	}
	return b.String()
}
