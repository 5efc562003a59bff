package upstream

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/screen"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/registry"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// searchCommand finds servers in the registry.
func searchCommand() *cli.Command {
	return &cli.Command{
		Name: "search", Usage: "find servers in a registry of MCP servers", ArgsUsage: "WORD…",
		Description: "It asks the official registry, or the one that the setting registry names, for servers that have\n" +
			"all words in their names, titles and descriptions. No other command except add --from-registry asks it.",
		Flags:        append(settings.Flags("registry"), env.OutputFlag(env.AsTable), env.JSONFlag),
		OnUsageError: env.OnUsageError, Action: searchRegistry,
	}
}

// registryOf returns a client for the registry in the settings.
func registryOf(o *settings.Options) registry.Client {
	return registry.Client{URL: o.Registry, Agent: "toolfold/" + env.Version()}
}

// foundServer is a row of a search.
type foundServer struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Ways        []string `json:"ways"`
	Status      string   `json:"status,omitempty"`
}

func searchRegistry(c *cli.Context) error {
	words := strings.Fields(strings.Join(c.Args().Slice(), " "))
	if len(words) == 0 {
		return env.UsageError("search takes at least one word")
	}
	form, err := env.OutputOf(c)
	if err != nil {
		return err
	}
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	found, err := registryOf(o).Search(c.Context, words)
	if err != nil {
		return err
	}
	rows := []foundServer{}
	for _, s := range found.Servers {
		row := foundServer{Name: s.Name, Version: s.Version, Title: registry.DisplayText(s.Title),
			Description: shorten.To(registry.DisplayText(s.Description), 200), Ways: []string{}}
		if s.Status != "active" {
			row.Status = shorten.To(registry.DisplayText(s.Status), 20)
		}
		for _, w := range s.Ways() {
			row.Ways = append(row.Ways, shorten.To(registry.DisplayText(w.Type), 20))
		}
		rows = append(rows, row)
	}
	from := cmp.Or(o.Registry, registry.Official)
	if found.Unreadable > 0 {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: %d servers of %s cannot be read and are left out\n", found.Unreadable, from)
	}
	if found.More {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: %s has more servers: add a word\n", from)
	}
	value := map[string]any{"registry": from, "servers": rows, "more": found.More, "unreadable": found.Unreadable}
	return env.PrintAs(c, form, value, func(s screen.Screen) error {
		if len(rows) == 0 {
			_, err := fmt.Fprintf(s.Out, "%s has no such server\n", from)
			return err
		}
		t := screen.Table{Header: []string{"server", "version", "ways", "description"}}
		for _, r := range rows {
			about := strings.TrimSpace(r.Status + " " + r.Description)
			t.Rows = append(t.Rows, []string{r.Name, r.Version, strings.Join(r.Ways, " "), about})
		}
		if _, err := s.Table(t); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.Out, "as %s has it; toolfold upstream add --from-registry SERVER adds one\n", from)
		return err
	})
}
