package upstream

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/screen"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/keyring"
	"github.com/toolfold/toolfold/tools/config"
)

// SecretCommand returns the command secret, for secrets of upstreams in the system's keyring.
func SecretCommand() *cli.Command {
	return &cli.Command{
		Name: "secret", Usage: "keep secrets of upstreams in the system's keyring",
		Description: "${keyring:NAME} in the env, headers, args or url of an upstream stands for a secret. It is read when\n" +
			"the server is started or reached, and is in no file of toolfold.",
		Subcommands: []*cli.Command{
			{
				Name: "set", Usage: "store a secret, which is asked for without showing it, or read from standard input", ArgsUsage: "NAME",
				OnUsageError: env.OnUsageError, Action: setSecret,
			},
			{
				Name: "list", Usage: "list the names of the secrets that upstreams refer to; the keyring is not asked",
				Flags: append(settings.Flags(), env.OutputFlag(env.AsTable), env.JSONFlag), OnUsageError: env.OnUsageError, Action: listSecrets,
			},
			{
				Name: "remove", Usage: "remove a secret from the keyring", ArgsUsage: "NAME",
				Flags: settings.Flags(), OnUsageError: env.OnUsageError, Action: removeSecret,
			},
		},
		HideHelpCommand: true, OnUsageError: env.OnUsageError, Action: env.UnknownCommand,
	}
}

// secretName returns the secret's name from the arguments of a command.
func secretName(c *cli.Context) (string, error) {
	name := c.Args().First()
	if c.NArg() != 1 || !keyring.IsName(name) {
		return "", env.UsageError("secret %s takes one NAME of letters, digits, _, . and -, at most 128", c.Command.Name)
	}
	return name, nil
}

func setSecret(c *cli.Context) error {
	name, err := secretName(c)
	if err != nil {
		return err
	}
	value, err := readSecret(c, name)
	if err != nil {
		return err
	}
	if err := keyring.Set(c.Context, name, value); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "stored %s in the keyring; an upstream gets it by %s in its env, headers, args or url\n",
		name, keyring.Reference(name))
	return err
}

// readSecret reads a secret from the terminal, or all of standard input without its last line end.
func readSecret(c *cli.Context, name string) (string, error) {
	if canAsk() {
		return askSecret(c, name+": ")
	}
	text, err := io.ReadAll(io.LimitReader(os.Stdin, keyring.MaxSecret+3)) // with a line end, and one byte too many
	if err != nil {
		return "", fmt.Errorf("reading the secret: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}

// usersOf maps the names of secrets to the upstreams that refer to them.
func usersOf(upstreams map[string]config.Upstream) map[string][]string {
	users := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(upstreams)) {
		for _, secret := range servers.EntryOf(name, upstreams[name]).Secrets() {
			users[secret] = append(users[secret], name)
		}
	}
	return users
}

func listSecrets(c *cli.Context) error {
	form, err := env.OutputOf(c)
	if err != nil {
		return err
	}
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	users := usersOf(o.Upstreams)
	return env.PrintAs(c, form, map[string]any{"secrets": users}, func(s screen.Screen) error {
		if len(users) == 0 {
			_, err := fmt.Fprintln(s.Out, "no upstream refers to a secret: toolfold secret set stores one, ${keyring:NAME} refers to it")
			return err
		}
		t := screen.Table{Header: []string{"secret", "upstreams"}}
		for _, name := range slices.Sorted(maps.Keys(users)) {
			t.Rows = append(t.Rows, []string{name, strings.Join(users[name], ", ")})
		}
		_, err := s.Table(t)
		return err
	})
}

// printUnusedSecrets names the secrets that only the removed upstream referred to.
func printUnusedSecrets(c *cli.Context, o *settings.Options, removed string) {
	users := usersOf(o.Upstreams)
	for _, secret := range slices.Sorted(maps.Keys(users)) {
		if slices.Equal(users[secret], []string{removed}) {
			fmt.Fprintf(c.App.Writer, "its secret stays in the keyring: toolfold secret remove %s\n", secret)
		}
	}
}

func removeSecret(c *cli.Context) error {
	name, err := secretName(c)
	if err != nil {
		return err
	}
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	var missing *keyring.MissingError
	if err := keyring.Remove(c.Context, name); errors.As(err, &missing) {
		return fmt.Errorf("the keyring has no secret %s", name)
	} else if err != nil {
		return err
	}
	if users := usersOf(o.Upstreams)[name]; len(users) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: %s still refers to it\n", strings.Join(users, ", "))
	}
	_, err = fmt.Fprintf(c.App.Writer, "removed %s from the keyring\n", name)
	return err
}
