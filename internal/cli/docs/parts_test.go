package docs

import (
	"fmt"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/design/architecture"
)

// Parts returns the generated parts of handwritten pages: by the page's path below docs, and by the
// part's name. [Renew] inserts them.
func Parts(specs []*toolfold.Family) (map[string]map[string]string, error) {
	costs, err := costTable(specs)
	if err != nil {
		return nil, err
	}
	folds, err := foldTable(specs)
	if err != nil {
		return nil, err
	}
	return map[string]map[string]string{
		"agents.md":    {"providers": optionTable(providerOptions())},
		"code.md":      {"layers": layerTable()},
		"lists.md":     {"costs": costs, "folds": folds, "tiers": tierTable(specs)},
		"settings.md":  {"settings": settingTables(), "upstream": optionTable(config.UpstreamSettings())},
		"workbench.md": {"tools": toolTable(specs)},
	}, nil
}

// Renew replaces the named parts of a page. A part stands between <!-- name: … --> and <!-- /name -->.
func Renew(page string, parts map[string]string) (string, error) {
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

// layerTable lists the folder names that identify layers.
func layerTable() string {
	var b strings.Builder
	b.WriteString("| name | type |\n|---|---|\n")
	for _, l := range architecture.Layers() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.Join(l.Names, "`, `"), l.Type)
	}
	return b.String()
}

// costTable compares the tokens of the surfaces.
func costTable(specs []*toolfold.Family) (string, error) {
	var b strings.Builder
	b.WriteString("| list | tools | tokens |\n|---|---:|---:|\n")
	for _, row := range []struct {
		name  string
		mode  surface.Mode
		level lazy.Level
	}{
		{"listing `lazy` (the default)", surface.Consolidated, lazy.Lazy},
		{"listing `search`", surface.Consolidated, lazy.Search},
		{"listing `signature`", surface.Consolidated, lazy.Signature},
		{"listing `full`", surface.Consolidated, lazy.Full},
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

// foldTable compares the tokens of the folds.
func foldTable(specs []*toolfold.Family) (string, error) {
	var b strings.Builder
	b.WriteString("| `--fold` | one tool is | tools | tokens, `lazy` | tokens, `full` |\n|---|---|---:|---:|---:|\n")
	for _, row := range []struct {
		name string
		fold consolidate.Fold
		unit string
	}{
		{"`family` (the default)", consolidate.ByFamily, "a whole family: `memory`"},
		{"`effect`", consolidate.ByEffect, "one half of a family: `memory` only reads, `memory_write` changes"},
		{"`none`", consolidate.None, "one action: `memory_get`"},
	} {
		var costs [2]doctor.Cost
		for i, level := range []lazy.Level{lazy.Lazy, lazy.Full} {
			var err error
			if costs[i], err = doctor.Count(surface.List(specs, surface.Options{Fold: row.fold, Level: level})); err != nil {
				return "", err
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s |\n", row.name, row.unit,
			costs[0].Tools, english.Grouped(costs[0].Tokens), english.Grouped(costs[1].Tokens))
	}
	return b.String(), nil
}

// toolTable lists the families with their actions.
func toolTable(specs []*toolfold.Family) string {
	var b strings.Builder
	b.WriteString("| tool | for | actions |\n|---|---|---|\n")
	for _, s := range specs {
		actions := strings.Join(s.ActionNames(), ", ")
		fmt.Fprintf(&b, "| [`%s`](tools/%s.md) | %s | %s |\n", s.Name, s.Name, s.Summary, actions)
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
