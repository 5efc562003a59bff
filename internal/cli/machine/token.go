package machine

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/screen"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/suggest"
	"github.com/toolfold/toolfold/permission"
)

// TokenCommand returns the command token.
func TokenCommand() *cli.Command {
	return &cli.Command{
		Name:  "token",
		Usage: "give callers over HTTP tokens with rights of their own",
		Subcommands: []*cli.Command{
			{
				Name: "add", Usage: "make a token and print it, this once", ArgsUsage: "NAME",
				Description: "The rules narrow the server's rules, for this caller. A server that runs reads the file\n" +
					"again. The file keeps a hash.\n\n" +
					"toolfold token add ci --read-only\n" +
					"toolfold token add desk --allow memory,task --deny '*.clear'\n" +
					"toolfold token add dev --set dev\n" +
					"toolfold token add me --admin",
				Flags: append(settings.Flags("httpTokenFile"),
					&cli.BoolFlag{Name: "read-only", Usage: "permit only actions that read"},
					&cli.StringSliceFlag{Name: "allow", Usage: "permit only these actions: names or patterns, separated by commas; may be repeated"},
					&cli.StringSliceFlag{Name: "deny", Usage: "do not permit these actions; may be repeated"},
					&cli.StringSliceFlag{Name: "set", Usage: "permit only the upstreams of this set; may be repeated"},
					&cli.BoolFlag{Name: "admin", Usage: "permit everything, and the login to the page of serve --http; goes with no rule"}),
				Action: addToken,
			},
			{
				Name: "list", Usage: "list the tokens of the file, with their rules",
				Flags: append(settings.Flags("httpTokenFile"), env.OutputFlag(env.AsTable), env.JSONFlag), Action: listTokens,
			},
			{
				Name: "remove", Usage: "take the token of a name out of the file", ArgsUsage: "NAME",
				Flags: settings.Flags("httpTokenFile"), Action: removeToken,
			},
		},
		HideHelpCommand: true,
		Action:          env.UnknownCommand,
	}
}

// editTokens replaces the text of a file with the result of edit, under a lock. A new file has mode
// 0600.
func editTokens(c *cli.Context, path string, edit func(text string, list []permission.Token) (string, error)) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := safefile.Lock(c.Context, path+".lock")
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", path, err)
	}
	defer unlock()
	list, err := settings.ReadTokens(path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	old, err := safefile.Read(root, filepath.Base(path), permission.MaxTokenFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := edit(string(old), list)
	if err != nil {
		return err
	}
	if len(text) > permission.MaxTokenFile {
		return fmt.Errorf("%s would have more than %d bytes", path, permission.MaxTokenFile)
	}
	return safefile.Replace(root, filepath.Base(path), []byte(text))
}

func addToken(c *cli.Context) error {
	if c.NArg() != 1 {
		return env.UsageError("token add takes one name: toolfold token add ci")
	}
	name := c.Args().First()
	if err := permission.CheckTokenName(name); err != nil {
		return env.UsageError("%v", err)
	}
	patterns := func(flag string) []string {
		return strings.FieldsFunc(strings.Join(c.StringSlice(flag), ","), func(r rune) bool { return r == ',' || r == ' ' })
	}
	rules := permission.Rules{ReadOnly: c.Bool("read-only"), Allow: patterns("allow"), Deny: patterns("deny")}
	sets := patterns("set")
	for flag, names := range map[string][]string{"allow": rules.Allow, "deny": rules.Deny, "set": sets} {
		if c.IsSet(flag) && len(names) == 0 { // an empty allow would permit all tools
			return env.UsageError("--%s names nothing", flag)
		}
	}
	made := permission.Token{Name: name, Rules: rules, Sets: sets, Admin: c.Bool("admin")}
	if err := made.Check(); err != nil {
		return env.UsageError("%v", err)
	}
	o, g, err := servers.OpenGateway(c, "")
	if err != nil {
		return err
	}
	defer g.Close()
	for _, set := range sets {
		if err := settings.UnknownSet(o.Sets, set); err != nil {
			return env.UsageError("%v", err)
		}
	}
	families := slices.Concat(app.Families(), g.Families(), g.Named())
	if err := rules.Check(families); err != nil {
		return env.UsageError("%v", err)
	}
	for _, l := range rules.Lapses(families) {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: rule %q does not allow %s\n", l.Rule, l.Advice())
	}
	path, err := settings.TokenFile(c)
	if err != nil {
		return err
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails
	token := base64.RawURLEncoding.EncodeToString(random)
	made.Hash = sha256.Sum256([]byte(token))
	err = editTokens(c, path, func(text string, list []permission.Token) (string, error) {
		for _, other := range list {
			if other.Name == name {
				return "", fmt.Errorf("%s has a token called %s: remove it first, or take another name", path, name)
			}
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + made.String() + "\n", nil
	})
	if err != nil {
		return err
	}
	use := "callers send it as Authorization: Bearer TOKEN"
	if made.Admin {
		use = "it logs in to the page at / of serve --http. Keep it out of the configuration of clients"
	}
	fmt.Fprintf(c.App.ErrWriter, "the token of %s, shown only now; %s.\nServers over HTTP read its hash in %s\n", name, use, path)
	_, err = fmt.Fprintln(c.App.Writer, token)
	return err
}

// tokenRow is a token in the output of token list.
type tokenRow struct {
	Name             string   `json:"name"` // empty for a plain token
	permission.Rules          // all empty = everything that the server offers
	Sets             []string `json:"sets,omitempty"`  // sets that it is limited to; empty = no limit
	Admin            bool     `json:"admin,omitempty"` // it logs in to the page
}

func listTokens(c *cli.Context) error {
	form, err := env.OutputOf(c)
	if err != nil {
		return err
	}
	path, err := settings.TokenFile(c)
	if err != nil {
		return err
	}
	list, err := settings.ReadTokens(path)
	if err != nil {
		return err
	}
	rows := []tokenRow{}
	for _, t := range list {
		rows = append(rows, tokenRow{t.Name, t.Rules, t.Sets, t.Admin})
	}
	return env.PrintAs(c, form, rows, func(s screen.Screen) error {
		t := screen.Table{Header: []string{"token", "permits"}}
		for _, row := range rows {
			permits := cmp.Or(permission.Token{Rules: row.Rules, Sets: row.Sets}.Permits(), "all that the server offers")
			if row.Admin {
				permits = "all that the server offers, and its page (admin)"
			}
			t.Rows = append(t.Rows, []string{cmp.Or(row.Name, "(plain token)"), permits})
		}
		_, err := s.Table(t)
		return err
	})
}

func removeToken(c *cli.Context) error {
	if c.NArg() != 1 {
		return env.UsageError("token remove takes one name")
	}
	name := c.Args().First()
	path, err := settings.TokenFile(c)
	if err != nil {
		return err
	}
	return editTokens(c, path, func(text string, list []permission.Token) (string, error) {
		var names []string
		for _, t := range list {
			names = append(names, t.Name)
		}
		var remaining []string
		found := false
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if len(words) > 1 && words[0] == name && words[0] != "#" {
				found = true
				continue
			}
			remaining = append(remaining, line)
		}
		if !found {
			suggestion := ""
			if near := suggest.Nearest(name, names); near != "" {
				suggestion = fmt.Sprintf(", did you mean %q?", near)
			}
			return "", fmt.Errorf("%s has no token called %q%s", path, name, suggestion)
		}
		return strings.Join(remaining, ""), nil
	})
}
