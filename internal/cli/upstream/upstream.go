// Package upstream has the command upstream, which manages other servers: adding and importing them,
// their folding, and the approval of their tools.
package upstream

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/screen"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/suggest"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/upstream"
)

// Command returns the command.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "upstream",
		Usage: "take over, add and manage MCP servers whose tools are served folded",
		Subcommands: byHeading(append([]*cli.Command{
			importCommand(),
			addCommand(),
			{
				Name: "list", Usage: "list the servers",
				Flags: append(settings.Flags(), env.OutputFlag(env.AsTable), env.JSONFlag), OnUsageError: env.OnUsageError, Action: listUpstreams,
			},
			{
				Name: "remove", Usage: "delete a server from the settings", ArgsUsage: "NAME",
				Flags: settings.Flags(), OnUsageError: env.OnUsageError, Action: removeUpstream,
			},
			{
				Name: "check", Usage: "ask the servers for their tools, and count them", ArgsUsage: "[NAME…]",
				Flags:        append(settings.Flags("listing"), settings.UpstreamsFlag, servers.TimeoutFlag),
				OnUsageError: env.OnUsageError, Action: checkUpstreams,
			},
			{
				Name: "fold", Usage: "print or change how the tools of a server are folded", ArgsUsage: "NAME",
				Description: "The plan is YAML: edit it, and give the file to --use. Later tools join the plan, and its names\n" +
					"stay.\n\n" +
					"toolfold upstream fold github > plan.yaml\n" +
					"toolfold upstream fold github --use plan.yaml",
				Flags: append(settings.Flags("listing", "fold", "toolMode", "params"), settings.UpstreamsFlag,
					&cli.StringFlag{Name: "use", Usage: "fold by the plan in this file", TakesFile: true},
					&cli.BoolFlag{Name: "again", Usage: "make a new plan, and list the renamed tools"},
				),
				OnUsageError: env.OnUsageError, Action: foldUpstream,
			},
			{
				Name: "approve", Usage: "review and accept tools that are new or have changed", ArgsUsage: "NAME [TOOL…]",
				Description: "It shows the tools that are held back, their flags and their differences, and asks. Name a\n" +
					"flagged or rejected tool to accept it. The title and instructions of the server have the name server:.\n" +
					"Without a terminal nothing is accepted, and the exit code is 1.",
				Flags: append(settings.Flags(), settings.UpstreamsFlag,
					&cli.BoolFlag{Name: "dry-run", Usage: "show the changes and their digest, and accept nothing"},
					&cli.StringFlag{Name: "digest", Usage: "accept without a question if the shown changes have this digest"},
				),
				OnUsageError: env.OnUsageError, Action: approval.run,
			},
			{
				Name: "reject", Usage: "review and reject tools that are new or have changed", ArgsUsage: "NAME [TOOL…]",
				Description: "It shows the tools that are held back, and asks. Rejected tools stay held back, and nothing asks\n" +
					"for them again until the server changes them. toolfold upstream approve accepts them by name.\n" +
					"Without a terminal nothing is rejected, and the exit code is 1.",
				Flags: append(settings.Flags(), settings.UpstreamsFlag,
					&cli.BoolFlag{Name: "dry-run", Usage: "show the changes and their digest, and reject nothing"},
					&cli.StringFlag{Name: "digest", Usage: "reject without a question if the shown changes have this digest"},
				),
				OnUsageError: env.OnUsageError, Action: rejection.run,
			},
			setsCommand(),
			searchCommand(),
			shareCommand(),
			{
				Name: "login", Usage: "log in at a server, in a browser", ArgsUsage: "NAME",
				Description: "The login is stored in a file that only you can read, and renewed before it ends. With\n" +
					"--paste the browser can run on another machine: copy its last address back into the\n" +
					"terminal, even if the page shows an error.",
				Flags: append(settings.Flags(), settings.UpstreamsFlag,
					&cli.BoolFlag{Name: "paste", Usage: "read the last address of the browser from standard input"},
					&cli.StringFlag{Name: "client-id", Usage: "id of a client that the authorization server knows; without it one is registered"},
					&cli.StringFlag{Name: "scope", Usage: "ask for these scopes, separated by spaces, instead of the server's"},
					&cli.StringFlag{Name: "client-secret-env", Usage: "environment variable with the secret of that client"},
					&cli.DurationFlag{Name: "timeout", Usage: "time limit for the login in the browser", Value: 5 * time.Minute},
				),
				OnUsageError: env.OnUsageError, Action: loginUpstream,
			},
			{
				Name: "logout", Usage: "delete the login at a server", ArgsUsage: "NAME",
				Flags: settings.Flags(), OnUsageError: env.OnUsageError, Action: logoutUpstream,
			},
		}, append(switchCommands(), setCommand(), restartCommand(), logCommand())...)),
		HideHelpCommand: true,
		OnUsageError:    env.OnUsageError,
		Action:          env.UnknownCommand,
	}
}

// byHeading sorts subcommands by their heading on the help page. Hidden ones come last.
func byHeading(commands []*cli.Command) []*cli.Command {
	names := []string{}
	for _, page := range []struct {
		heading  string
		commands []string
	}{
		{"Take over and add servers", []string{"import", "add", "search"}},
		{"Manage servers", []string{"list", "check", "set", "enable", "disable", "restart", "log", "login", "logout", "remove"}},
		{"Tools that clients see", []string{"sets", "fold", "approve", "reject"}},
	} {
		for _, command := range commands {
			if slices.Contains(page.commands, command.Name) {
				command.Category = page.heading
			}
		}
		names = append(names, page.commands...)
	}
	place := func(command *cli.Command) int {
		if i := slices.Index(names, command.Name); i >= 0 {
			return i
		}
		return len(names)
	}
	slices.SortStableFunc(commands, func(a, b *cli.Command) int { return place(a) - place(b) })
	return commands
}

// putUpstreams writes upstreams into the user's file. If it then holds a possible secret, only the user
// can read the file.
func putUpstreams(c *cli.Context, files config.Files, upstreams map[string]config.Upstream) error {
	service := config.New(files, nil)
	secret := false
	for _, name := range slices.Sorted(maps.Keys(upstreams)) {
		u := upstreams[name]
		_, err := service.Set(config.ByUser(c.Context), config.SetIn{Path: "upstreams." + name, Value: ordered.MustJSON(u), Scope: config.Global})
		if err != nil {
			return fmt.Errorf("writing upstream %s: %w", name, err)
		}
		secret = secret || hasSecret(u)
	}
	info, err := os.Stat(files.Global)
	if err != nil {
		return fmt.Errorf("writing upstreams: %w", err)
	}
	if secret && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(files.Global, 0o600); err != nil {
			return fmt.Errorf("hiding the secrets in %s from other users: %w", files.Global, err)
		}
		fmt.Fprintf(c.App.ErrWriter, "toolfold: %s holds secrets now and is readable for you alone\n", files.Global)
	}
	return nil
}

// hasSecret reports whether env or headers have literal values instead of variables.
func hasSecret(u config.Upstream) bool {
	for _, values := range []map[string]string{u.Env, u.Headers} {
		for _, value := range values {
			if value != "" && !hosts.HasVariable(value) {
				return true
			}
		}
	}
	return false
}

func loginUpstream(c *cli.Context) error {
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	if o.Upstreams, _, err = servers.WithFile(c, o, c.String(settings.UpstreamsFlag.Name)); err != nil {
		return err
	}
	name := c.Args().First()
	if _, known := o.Upstreams[name]; !known || c.NArg() != 1 {
		return upstreamUnknown(o, name)
	}
	s, err := servers.ForLogin(o, name)
	if err != nil {
		return err
	}
	login := upstream.Login{Server: s, ClientID: c.String("client-id"), Scopes: strings.Fields(c.String("scope")), Show: func(address string) {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: open this address in a browser:\n%s\n", address)
		if !c.Bool("paste") {
			env.Browse(address)
		}
	}}
	if variable := c.String("client-secret-env"); variable != "" {
		if login.ClientSecret = os.Getenv(variable); login.ClientSecret == "" || login.ClientID == "" {
			return env.UsageError("--client-secret-env names a variable that is set, and goes with --client-id")
		}
	}
	if c.Bool("paste") {
		login.Paste = func(context.Context) (string, error) {
			fmt.Fprintln(c.App.ErrWriter, "toolfold: paste the address that it ended at:")
			line, err := bufio.NewReader(os.Stdin).ReadString('\n')
			if strings.TrimSpace(line) == "" && err != nil {
				return "", fmt.Errorf("reading the address: %w", err)
			}
			return line, nil
		}
	}
	ctx, cancel := context.WithTimeout(c.Context, c.Duration("timeout"))
	defer cancel()
	if err := s.Account.LogIn(ctx, login); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err = fmt.Fprintf(c.App.Writer, "logged in at %s\n", name)
	return err
}

func logoutUpstream(c *cli.Context) error {
	name := c.Args().First()
	removed, err := servers.Accounts().Remove(c.Context, name)
	if err != nil {
		return err
	}
	if !removed {
		return fmt.Errorf("there is no login at %q", name)
	}
	_, err = fmt.Fprintf(c.App.Writer, "forgot the login at %s\n", name)
	return err
}

func upstreamUnknown(o *settings.Options, name string) error {
	known := slices.Sorted(maps.Keys(o.Upstreams))
	if near := suggest.Nearest(name, known); near != "" {
		return env.UsageError("there is no upstream %q, did you mean %q?", name, near)
	}
	return env.UsageError("there is no upstream %q: there are %s", name, cmp.Or(strings.Join(known, ", "), "none"))
}

func removeUpstream(c *cli.Context) error {
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	name := c.Args().First()
	if _, known := o.Upstreams[name]; !known || c.NArg() != 1 {
		return upstreamUnknown(o, name)
	}
	_, err = config.New(o.Files, nil).Unset(config.ByUser(c.Context), config.UnsetIn{Path: "upstreams." + name, Scope: config.Global})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.App.Writer, "removed %s from %s\n", name, o.Files.Global); err != nil {
		return err
	}
	printUnusedSecrets(c, o, name)
	if err := leaveSets(c, o, name); err != nil {
		return err
	}
	if err := servers.RemoveJournal(name); err != nil {
		return fmt.Errorf("removing the log of %s: %w", name, err)
	}
	return nil
}

func listUpstreams(c *cli.Context) error {
	form, err := env.OutputOf(c)
	if err != nil {
		return err
	}
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	redacted, _ := o.Layers.Redacted()["upstreams"].(map[string]any)
	if redacted == nil {
		redacted = map[string]any{}
	}
	return env.PrintAs(c, form, map[string]any{"upstreams": redacted}, func(s screen.Screen) error {
		if len(o.Upstreams) == 0 {
			_, err := fmt.Fprintln(s.Out,
				"no upstreams: toolfold upstream import takes over your clients' servers, toolfold upstream add adds one")
			return err
		}
		t := screen.Table{Header: []string{"upstream", "server", "problem"}}
		for _, name := range slices.Sorted(maps.Keys(o.Upstreams)) {
			u := o.Upstreams[name]
			state := ""
			if _, problem := servers.OfUpstream(name, u, o.Files.Workspace); u.Disabled {
				state = "switched off: toolfold upstream enable " + name
			} else if problem != nil {
				state = problem.Error()
			}
			t.Rows = append(t.Rows, []string{name, where(u), state})
		}
		_, err := s.Table(t)
		return err
	})
}

// where returns the command or URL of an upstream, without secrets.
func where(u config.Upstream) string {
	if u.Command == "" {
		return redact.Text(u.URL)
	}
	call := []any{u.Command}
	for _, arg := range u.Args {
		call = append(call, arg)
	}
	return strings.TrimSpace(fmt.Sprintln(redact.Value(call).([]any)...))
}

// missing reports whether an error means that a file does not exist.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
