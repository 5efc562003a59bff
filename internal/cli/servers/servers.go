// Package servers reads the other servers from the settings and from clients' files, and starts or
// reaches them.
package servers

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/tools/config"
)

// asUpstream is an environment variable of every program that is an upstream. A toolfold with this
// variable serves no upstreams, because it would start itself again and again, perhaps through a
// script.
const asUpstream = "TOOLFOLD_AS_UPSTREAM"

// IsOwn reports whether an entry of a client starts this program.
func IsOwn(e hosts.Entry) bool {
	return e.Name == hosts.Server || len(e.Command) > 0 && strings.HasPrefix(filepath.Base(e.Command[0]), "toolfold")
}

// Upstreams returns the servers to serve: those of the settings and of the --upstreams file. Servers
// that are left out are reported on standard error.
func Upstreams(c *cli.Context, o *settings.Options) ([]gateway.Upstream, error) {
	if os.Getenv(asUpstream) != "" {
		return nil, nil
	}
	all, problems, err := WithFile(c, o, c.String(settings.UpstreamsFlag.Name))
	if err != nil {
		return nil, err
	}
	missing, err := o.Choose(slices.Collect(maps.Keys(all)))
	if err != nil {
		return nil, env.UsageError("%v", err)
	}
	list := gatewayUpstreams(o, all, problems)
	printProblems(c, o, list)
	for i, u := range list {
		if lacks := o.Lacks(u.Name); lacks != "" {
			list[i].Problem = lacks // never started, but known, so that no other server gets its names
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: the set %s has members without an upstream: %s; "+
			"toolfold upstream sets --remove %s %s removes it\n",
			name, strings.Join(missing[name], ", "), name, strings.Join(missing[name], " "))
	}
	return list, nil
}

// gatewayUpstreams converts upstreams for the gateway, those of the settings first, sorted by name. problems
// maps the names of unusable ones to the reason.
func gatewayUpstreams(o *settings.Options, all map[string]config.Upstream, problems map[string]string) (list []gateway.Upstream) {
	names := slices.Sorted(maps.Keys(o.Upstreams))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, known := o.Upstreams[name]; !known {
			names = append(names, name)
		}
	}
	for _, name := range names {
		u := upstreamFrom(name, all[name], o.Files.Workspace)
		u.Problem = cmp.Or(problems[name], u.Problem)
		list = append(list, u)
	}
	return list
}

// WithFile returns the upstreams of the settings and of a client's file, which may be empty. Settings
// in the file's entries apply. problems maps the names of unusable entries to their faults. Names in
// the file need not be valid names for the settings.
func WithFile(c *cli.Context, o *settings.Options, path string) (all map[string]config.Upstream, problems map[string]string, err error) {
	all = maps.Clone(o.Upstreams)
	if path == "" {
		return all, nil, nil
	}
	if err := trustsFile(path, o); err != nil {
		return nil, nil, err
	}
	text, err := clientfile.Read(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	h := hosts.Owner(path, text)
	if h == nil {
		return nil, nil, fmt.Errorf("%s names no servers as any client does", path)
	}
	entries, err := h.Servers(text, o.Files.Workspace)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if all == nil {
		all = map[string]config.Upstream{}
	}
	problems = map[string]string{}
	for _, e := range entries {
		if IsOwn(e) {
			continue
		}
		if _, known := all[e.Name]; known {
			fmt.Fprintf(c.App.ErrWriter, "toolfold: upstream %s is left out: the settings have one of that name\n", e.Name)
			continue
		}
		u, unread, err := UpstreamOf(e)
		switch {
		case e.Problem != "":
			problems[e.Name] = e.Problem
		case err != nil:
			problems[e.Name] = fmt.Sprintf("in %s: %v", path, err)
		case len(unread) > 0:
			fmt.Fprintf(c.App.ErrWriter, "toolfold: of upstream %s this is not read: %s\n", e.Name, strings.Join(unread, ", "))
		}
		all[e.Name] = u
	}
	return all, problems, nil
}

// printProblems reports on standard error which served and enabled upstreams cannot be used.
func printProblems(c *cli.Context, o *settings.Options, list []gateway.Upstream) {
	for _, u := range list {
		if u.Problem != "" && !u.Off && o.Lacks(u.Name) == "" {
			fmt.Fprintf(c.App.ErrWriter, "toolfold: upstream %s cannot be used: %s\n", u.Name, u.Problem)
		}
	}
}

// trustsFile rejects a file in an untrusted workspace, because the servers that it names would be
// started.
func trustsFile(path string, o *settings.Options) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(o.Files.Workspace)
	if err != nil {
		return err
	}
	real, err = filepath.Abs(real)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	inside, err := filepath.Rel(dir, real)
	if err == nil && filepath.IsLocal(inside) && !o.Trusted() {
		return fmt.Errorf("%s names programs to start and is in a folder that is not trusted: toolfold trust %s", path, dir)
	}
	return nil
}
