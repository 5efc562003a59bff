package upstream

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/tools/config"
)

const noCheckFlag = "no-check"

func addCommand() *cli.Command {
	return &cli.Command{
		Name: "add", Usage: "add a server", ArgsUsage: "NAME [-- PROGRAM ARG…]",
		Description: "The program gets the variables named with --env and the variables that every program\n" +
			"has. ${NAME} in a value stands for a variable of yours, so that no secret is written down.\n" +
			"The server is asked for its tools once. One that does not answer stays in the settings, and\n" +
			"the exit code is 1.\n\n" +
			"toolfold upstream add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes\n" +
			"toolfold upstream add github --url https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer ${GITHUB_TOKEN}'\n" +
			"toolfold upstream add --from-registry io.github.owner/server",
		Flags: slices.Concat(settings.Flags("registry"), settingFlags(), registryFlags(),
			[]cli.Flag{servers.TimeoutFlag, &cli.BoolFlag{Name: noCheckFlag, Usage: "do not ask the server"}}),
		OnUsageError: env.OnUsageError, Action: addUpstream,
	}
}

func addUpstream(c *cli.Context) error {
	if c.String(fromRegistryFlag) != "" {
		return addFromRegistry(c)
	}
	if err := withoutRegistry(c); err != nil {
		return err
	}
	name, program := words(c)
	switch {
	case !settings.UpstreamName().MatchString(name):
		return env.UsageError("add takes a NAME of at most 32 small letters, digits, - and _, which begins with a letter; got %q", name)
	case name == hosts.Server:
		return env.UsageError("%s is this server itself", name)
	}
	values, err := flagValues(c)
	if err != nil {
		return err
	}
	u, err := upstreamOf(put(map[string]any{}, values, program))
	if err != nil {
		return err
	}
	if err := misfit("add", u); err != nil {
		return err
	}
	o, err := settings.Load(settings.WithoutFlags(c))
	if err != nil {
		return err
	}
	if _, known := o.Upstreams[name]; known {
		return env.UsageError("there is an upstream %s: toolfold upstream set %s changes it, or choose another name", name, name)
	}
	if err := putUpstreams(c, o.Files, map[string]config.Upstream{name: u}); err != nil {
		return err
	}
	return addedEntry(c, o, name, u)
}

// addedEntry reports that a server was added, and asks it for its tools unless the command or the settings
// prevent that.
func addedEntry(c *cli.Context, o *settings.Options, name string, u config.Upstream) error {
	if _, err := fmt.Fprintf(c.App.Writer, "added %s to %s\n", name, o.Files.Global); err != nil {
		return err
	}
	if c.Bool(noCheckFlag) || u.Disabled {
		if why := absentProgram(u); why != "" {
			fmt.Fprintf(c.App.ErrWriter, "toolfold: %s: %s\n", name, why)
		}
		_, err := fmt.Fprintf(c.App.Writer, "toolfold upstream check %s asks it for its tools\n", name)
		return err
	}
	return askOnce(c, name, u)
}

// absentProgram returns a message if the program of a server does not exist. It is empty if it exists,
// or if that is unknown.
func absentProgram(u config.Upstream) string {
	if u.Command == "" || hosts.HasVariable(u.Command) {
		return ""
	}
	if _, err := exec.LookPath(u.Command); err != nil && errors.Is(err, exec.ErrNotFound) {
		return fmt.Sprintf("there is no program %q in your PATH: install it, or correct its name", u.Command)
	}
	return ""
}

// askOnce asks a server of the settings for its tools, stores the list, and prints its cost as it is
// and folded.
func askOnce(c *cli.Context, name string, u config.Upstream) error {
	o, g, err := servers.OpenGateway(settings.WithoutFlags(c), "")
	if err != nil {
		return err
	}
	defer g.Close()
	ctx, cancel := context.WithTimeout(c.Context, c.Duration(servers.TimeoutFlag.Name))
	defer cancel()
	why := absentProgram(u)
	if why == "" {
		if err := g.Refresh(ctx, name); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		login := ""
		if u.URL != "" {
			login = "login " + name + " logs in, "
		}
		return fmt.Errorf("%s has listed no tools: %s\nit stays in the settings: toolfold upstream set %s corrects it, %scheck %s asks again, "+
			"log %s prints its output, remove %s takes it out", name, why, name, login, name, name, name)
	}
	answer, families, _ := g.Listing(name)
	raw, folded, err := servers.Costs(answer, families, o)
	if err != nil {
		return err
	}
	note := ""
	if trouble := g.Trouble()[name]; trouble != "" {
		note = "; " + trouble
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %s, %s → %s tokens%s\n",
		name, english.Count(raw.Tools, "tool", "tools"), english.Grouped(raw.Tokens), english.Grouped(folded.Tokens), note)
	return err
}
