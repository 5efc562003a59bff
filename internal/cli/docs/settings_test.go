package docs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/tools/config"
)

// settingTables lists all settings, grouped like their flags on help pages.
func settingTables() string {
	var flags []string // of serve
	for _, f := range settings.ServeCommand().Flags {
		flags = append(flags, f.Names()...)
	}
	var b strings.Builder
	for _, heading := range settings.Headings {
		fmt.Fprintf(&b, "\n### %s\n\n", heading)
		b.WriteString("| setting | flag and variable | default | also set by | description |\n|---|---|---|---|---|\n")
		for _, s := range config.Settings {
			p := s.Param()
			if settings.Heading(p.Name) != heading {
				continue
			}
			flag := ""
			if name := settings.FlagName(p.Name); slices.Contains(flags, name) && p.Name != settings.UpstreamsFlag.Name {
				flag = "`--" + name + "` "
			}
			if p.Name != settings.UpstreamsFlag.Name {
				flag += "`" + settings.EnvName(p.Name) + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", p.Name, flag, defaultOf(p), alsoBy(s.By), described(p))
		}
	}
	return b.String()[1:]
}

// alsoBy names the sources, other than the user, that may set a setting.
func alsoBy(by config.Setter) string {
	switch by {
	case config.Client:
		return "a workspace, clients"
	case config.Workspace:
		return "a workspace, clients in its file"
	case config.Narrowing:
		return "a workspace, to take away"
	case config.Trusted:
		return "a trusted workspace"
	}
	return ""
}

// defaultOf returns the value of a setting that is not set; empty if it has no value then.
func defaultOf(p toolfold.Param) string {
	if p.Default != nil {
		return fmt.Sprintf("`%v`", p.Default)
	}
	return settings.Computed[p.Name]
}

// described returns the description of a setting with its values.
func described(p toolfold.Param) string {
	text := p.Doc
	if p.MinLen != 1 || p.MaxLen > 0 { // that a text is not empty is obvious
		text += bounds(p)
	}
	if len(p.Enum) > 0 {
		text += " Values: `" + strings.Join(p.Enum, "`, `") + "`."
	}
	return text
}

// optionTable lists the members of a setting that is an object.
func optionTable(options []toolfold.Param) string {
	var b strings.Builder
	b.WriteString("| setting | description |\n|---|---|\n")
	for _, p := range options {
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.Name, described(p))
	}
	return b.String()
}

// providerOptions returns the settings of a model provider.
func providerOptions() []toolfold.Param {
	all := config.Params(config.Settings)
	providers := all[slices.IndexFunc(all, func(p toolfold.Param) bool { return p.Name == "providers" })]
	return providers.Values.Members()
}
