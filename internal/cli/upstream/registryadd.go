package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/keyring"
	"github.com/toolfold/toolfold/internal/system/registry"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/shell"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/tools/config"
)

// fromRegistryFlag names a server of the registry.
const fromRegistryFlag = "from-registry"

// registryFlags are the flags of add for servers from a registry.
func registryFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: fromRegistryFlag, Usage: "add the server of this name in the registry, with @VERSION for an older one"},
		&cli.StringFlag{Name: "package", Usage: "with --from-registry: npm, pypi, oci, nuget or remote, in place of the first that works here"},
		&cli.StringSliceFlag{Name: "arg", Usage: "with --from-registry: a value that the server takes, as NAME=value; may be repeated"},
		&cli.BoolFlag{Name: "yes", Usage: "with --from-registry: add without asking"},
	}
}

// withoutRegistry rejects [registryFlags], and --registry, without --from-registry.
func withoutRegistry(c *cli.Context) error {
	for _, flag := range c.LocalFlagNames() { // TOOLFOLD_REGISTRY is not a flag
		instead := ""
		switch flag {
		case "arg":
			instead = "the arguments of a program follow it behind --"
		case "yes":
			instead = "leave it out, add asks nothing here"
		case "package", "registry":
			instead = "name the server of the registry there, or leave --" + flag + " out"
		default:
			continue
		}
		return env.UsageError("--%s goes with --%s: %s", flag, fromRegistryFlag, instead)
	}
	return nil
}

// registryAdd is a server from a registry that is being added.
type registryAdd struct {
	name    string // of the upstream
	server  registry.Server
	way     registry.Way
	answers registry.Answers
	secret  map[registry.Kind]map[string]string // answers to store in the keyring
}

// addFromRegistry adds a server from the registry, after showing the user what it starts or reaches.
func addFromRegistry(c *cli.Context) error {
	a := registryAdd{answers: registry.Answers{}, secret: registry.Answers{}}
	if err := a.read(c); err != nil {
		return err
	}
	o, err := settings.Load(settings.WithoutFlags(c, "registry"))
	if err != nil {
		return err
	}
	server, version, _ := strings.Cut(c.String(fromRegistryFlag), "@")
	if !registry.IsName(server) {
		return env.UsageError("--%s takes a name such as io.github.owner/server, got %q", fromRegistryFlag, server)
	}
	if a.name, err = upstreamName(c.Args().First(), server, o); err != nil {
		return err
	}
	if a.server, err = registryOf(o).Server(c.Context, server, version); err != nil {
		return err
	}
	if a.way, err = choose(a.server, c.String("package")); err != nil {
		return err
	}
	a.introduce(c.App.Writer, cmp.Or(o.Registry, registry.Official))
	if err := a.complete(c); err != nil {
		return err
	}
	u, err := a.upstream()
	if err != nil {
		return env.UsageError("%v", err)
	}
	if u, err = withSettings(c, u); err != nil {
		return err
	}
	a.show(c.App.Writer, u)
	switch {
	case c.Bool("yes"):
	case !canAsk():
		return env.UsageError("nothing is added, since there is no terminal to ask: --yes adds the server as shown")
	case !agrees(c, "add it as "+a.name+"?"):
		return errors.New("nothing is added")
	}
	return a.write(c, o)
}

// withSettings adds the settings of flags to an upstream. --env and --header are left out: they answer
// the registry's questions and are already in it.
func withSettings(c *cli.Context, u config.Upstream) (config.Upstream, error) {
	values, err := flagValues(c)
	if err != nil {
		return u, err
	}
	delete(values, "env")
	delete(values, "headers")
	if u, err = upstreamOf(put(membersOf(u), values, nil)); err != nil {
		return u, err
	}
	return u, misfit("add", u)
}

// read reads the answers from flags.
func (a *registryAdd) read(c *cli.Context) error {
	if c.NArg() > 1 || c.String("url") != "" {
		return env.UsageError("--%s takes at most a NAME for the upstream, and no program or --url", fromRegistryFlag)
	}
	for kind, sep := range map[registry.Kind]string{registry.Env: "=", registry.Header: ":", registry.Arg: "="} {
		a.answers[kind], a.secret[kind] = map[string]string{}, map[string]string{}
		for _, text := range c.StringSlice(string(kind)) {
			name, value, ok := strings.Cut(text, sep)
			if name = strings.TrimSpace(name); !ok || name == "" {
				return env.UsageError("--%s takes NAME%svalue, got %q", kind, sep, redact.Text(text))
			}
			a.answers[kind][name] = strings.TrimSpace(value)
		}
	}
	return nil
}

// upstreamName returns the wanted name for an upstream, or else the last part of the server's name.
func upstreamName(choice, server string, o *settings.Options) (string, error) {
	name := choice
	if name == "" {
		name = freeName(config.Upstream{}, server[strings.LastIndex(server, "/")+1:], "", nil)
	}
	switch _, known := o.Upstreams[name]; {
	case !settings.UpstreamName().MatchString(name):
		return "", env.UsageError("a NAME has at most 32 small letters, digits, - and _, and begins with a letter; got %q", name)
	case name == hosts.Server:
		return "", env.UsageError("%s is this server itself: choose another name", name)
	case known:
		return "", env.UsageError("there is an upstream %s: toolfold upstream remove %s, or choose another name", name, name)
	}
	return name, nil
}

// choose returns the first package of a server whose runner is installed, or the first remote. If kind
// is set, it considers only that type.
func choose(s registry.Server, kind string) (registry.Way, error) {
	var problems []string
	var remotes []registry.Way
	for _, w := range s.Ways() {
		problem := w.Problem
		if problem == nil && w.Runner != "" {
			if _, err := exec.LookPath(w.Runner); err != nil {
				problem = fmt.Errorf("it is started by %s, which is not installed", w.Runner)
			}
		}
		switch {
		case kind != "" && w.Type != kind:
		case problem != nil:
			problems = append(problems, fmt.Sprintf("%s: %v", registry.DisplayText(w.Type), problem))
		case w.Runner == "":
			remotes = append(remotes, w)
		default:
			return w, nil
		}
	}
	switch {
	case len(remotes) > 0:
		return remotes[0], nil
	case len(problems) > 0:
		return registry.Way{}, fmt.Errorf("%s cannot be added:\n%s", s.Name, strings.Join(problems, "\n"))
	case kind != "":
		return registry.Way{}, env.UsageError("%s has no package of type %q", s.Name, kind)
	}
	return registry.Way{}, fmt.Errorf("%s names neither a package nor a remote", s.Name)
}

// introduce prints the registry's information about the server.
func (a *registryAdd) introduce(w io.Writer, from string) {
	s := a.server
	fmt.Fprintf(w, "%s %s, as %s has it\n", s.Name, s.Version, from)
	for _, line := range []string{s.Title, s.Description, s.Repository.URL, s.WebsiteURL} {
		if line = registry.DisplayText(line); line != "" {
			fmt.Fprintf(w, "  %s\n", shorten.To(line, 300))
		}
	}
	if s.Status != "" && s.Status != "active" {
		fmt.Fprintf(w, "  its status there is %s\n", shorten.To(registry.DisplayText(s.Status), 40))
	}
	if a.way.Moves {
		fmt.Fprintln(w, "  its image is named by a tag, which its owner can move: only a digest is pinned for good")
	}
	for _, q := range a.way.Questions() {
		fmt.Fprintf(w, "  --%s %s%s%s\n", q.Kind, q.Name, marks(q), about(q))
	}
}

// marks describes the properties of a question.
func marks(q registry.Question) string {
	var words []string
	if q.IsRequired {
		words = append(words, "required")
	}
	if q.IsSecret {
		words = append(words, "secret")
	}
	if q.Default != "" {
		words = append(words, "default "+q.Default)
	}
	if len(q.Choices) > 0 {
		words = append(words, "one of "+strings.Join(q.Choices, ", "))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + shorten.To(strings.Join(words, "; "), 200) + ")"
}

// about returns the description of a question, with its example.
func about(q registry.Question) string {
	text := registry.DisplayText(q.Description)
	if example := registry.DisplayText(q.Placeholder); example != "" {
		text = strings.TrimSpace(text + " such as " + example)
	}
	if text == "" {
		return ""
	}
	return ": " + shorten.To(text, 200)
}

// complete asks the user for missing values, rejects unknown ones, and sets the secrets apart.
func (a *registryAdd) complete(c *cli.Context) error {
	known := map[registry.Kind][]string{}
	var missing []string
	for _, q := range a.way.Questions() {
		known[q.Kind] = append(known[q.Kind], q.Name)
		value, given := a.answers[q.Kind][q.Name]
		switch {
		case given:
		case !q.Needed():
			continue
		case !canAsk():
			missing = append(missing, fmt.Sprintf("--%s %s", q.Kind, q.Name))
			continue
		default:
			ask := askLine
			if q.IsSecret {
				ask = askSecret
			}
			var err error
			if value, err = ask(c, q.Name+": "); err != nil {
				return err
			}
			if value == "" {
				return fmt.Errorf("nothing is added: %s is required", q.Name)
			}
		}
		a.answers[q.Kind][q.Name] = value
		if q.IsSecret && value != "" && !hosts.HasVariable(value) {
			a.secret[q.Kind][q.Name] = value
		}
	}
	if len(missing) > 0 {
		return env.UsageError("nothing is added, as required values are missing: %s", strings.Join(missing, ", "))
	}
	for kind, values := range a.answers {
		for name := range values {
			if !slices.Contains(known[kind], name) {
				return env.UsageError("the server takes no --%s %s: it takes %s", kind, name, cmp.Or(strings.Join(known[kind], ", "), "none"))
			}
		}
	}
	return nil
}

// upstream returns the settings of the server. Each secret is replaced by the reference that it will
// have in the keyring, under its usual name.
func (a *registryAdd) upstream() (config.Upstream, error) {
	if _, err := a.way.Settings(a.answers); err != nil { // including secrets, which may have to fit a form
		return config.Upstream{}, err
	}
	return a.with(func(_ registry.Kind, name, _ string) (string, error) {
		return keyring.Reference(secretOf(a.name, name)), nil
	})
}

// with returns the settings of the server, with secrets replaced by the results of instead.
func (a *registryAdd) with(instead func(kind registry.Kind, name, secret string) (string, error)) (u config.Upstream, err error) {
	answers := registry.Answers{}
	for kind, values := range a.answers {
		answers[kind] = map[string]string{}
		for name, value := range values {
			if secret, is := a.secret[kind][name]; is {
				if value, err = instead(kind, name, secret); err != nil {
					return u, err
				}
			}
			answers[kind][name] = value
		}
	}
	s, err := a.way.Settings(answers)
	if err != nil {
		return u, err
	}
	u.URL, u.Env, u.Headers = s.URL, s.Env, s.Headers
	if len(s.Command) > 0 {
		u.Command, u.Args = s.Command[0], s.Command[1:]
	}
	if s.SSE {
		u.Type = "sse"
	}
	return u, nil
}

// show prints the settings that will be written.
func (a *registryAdd) show(w io.Writer, u config.Upstream) {
	if u.Command != "" {
		fmt.Fprintf(w, "runs     %s\n", shell.Words(append([]string{u.Command}, u.Args...)))
	} else {
		fmt.Fprintf(w, "reaches  %s\n", u.URL)
	}
	for _, values := range []map[string]string{u.Env, u.Headers} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(w, "with     %s: %s\n", name, values[name])
		}
	}
}

// write stores the secrets and then the settings. After an error it removes the secrets again.
func (a *registryAdd) write(c *cli.Context, o *settings.Options) error {
	var stored []string
	u, err := a.with(func(kind registry.Kind, name, secret string) (string, error) {
		of, isNew, err := storeSecret(c.Context, a.name, name, secret)
		if err != nil {
			return "", fmt.Errorf("%w: --%s '%s=${%s}'", err, kind, name, keyring.Variable(of))
		}
		if isNew {
			stored = append(stored, of)
		}
		return keyring.Reference(of), nil
	})
	if err == nil {
		u, err = withSettings(c, u)
	}
	if err == nil {
		err = putUpstreams(c, o.Files, map[string]config.Upstream{a.name: u})
	}
	if err != nil {
		return errors.Join(err, removeAll(context.WithoutCancel(c.Context), stored))
	}
	if len(stored) > 0 {
		fmt.Fprintf(c.App.Writer, "stored %s in the keyring\n", strings.Join(stored, ", "))
	}
	return addedEntry(c, o, a.name, u)
}
