package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/upstream"
)

// clientFile is a client's file with servers.
type clientFile struct {
	host  *hosts.Host
	path  string
	named bool // by the user, so it must exist
}

// clientFiles returns the files that --client and --config name. Files of an untrusted workspace are
// returned as problems, because the servers that they name would be started.
func clientFiles(c *cli.Context, o *settings.Options) (files []clientFile, problems []doctor.List, err error) {
	names := c.StringSlice(clientFlag)
	if slices.Contains(names, "all") {
		names = hosts.Readable()
	}
	for _, name := range names {
		h := hosts.Find(name)
		if h == nil || h.Path == nil {
			return nil, nil, env.UsageError("unknown client %q: one of %s, or all", name, strings.Join(hosts.Readable(), ", "))
		}
		own, err := h.Path()
		if err != nil {
			return nil, nil, err
		}
		for _, file := range h.Project {
			path := filepath.Join(o.Files.Workspace, filepath.FromSlash(file))
			if _, err := clientfile.Read(path); errors.Is(err, fs.ErrNotExist) || clientfile.SameFile(path, own) {
				continue
			}
			if !o.Trusted() {
				problems = append(problems, doctor.List{
					Server: file, Source: path, Host: h.Name, Problem: "it is left out because the folder is not trusted: toolfold trust, or --config " +
						path,
				})
				continue
			}
			files = append(files, clientFile{h, path, false})
		}
		files = append(files, clientFile{h, own, false})
	}
	for _, path := range c.StringSlice(configFlag) {
		text, err := clientfile.Read(path)
		if err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", path, err)
		}
		h := hosts.Owner(path, text)
		if h == nil {
			return nil, nil, fmt.Errorf("%s names no servers as any client does", path)
		}
		files = append(files, clientFile{h, path, true})
	}
	return files, problems, nil
}

// askClients asks every server in clients' files, a few at a time. A server that does not answer gives
// a list with a problem.
func askClients(c *cli.Context, o *settings.Options) ([]doctor.List, error) {
	files, lists, err := clientFiles(c, o)
	if err != nil {
		return nil, err
	}
	var entries []hosts.Entry // parallel to lists
	known := map[string]bool{}
	for range lists {
		entries = append(entries, hosts.Entry{})
	}
	for _, file := range files {
		text, err := clientfile.Read(file.path)
		if errors.Is(err, fs.ErrNotExist) && !file.named {
			continue
		}
		var found []hosts.Entry
		model := file.host.Model(text)
		if err == nil {
			found, err = file.host.Servers(text, o.Files.Workspace)
		}
		if err != nil {
			lists = append(lists, doctor.List{Server: filepath.Base(file.path), Source: file.path, Host: file.host.Name, Problem: err.Error(),
				Model: model})
			entries = append(entries, hosts.Entry{})
		}
		for _, e := range found {
			e = e.Fill(o.Files.Workspace)
			key := file.host.Name + "\n" + e.Name
			if known[key] && !file.named { // the workspace's entry overrides the user's
				continue
			}
			known[key] = true
			lists = append(lists, doctor.List{Server: e.Name, Source: file.path, Host: file.host.Name, Problem: e.Problem, Model: model})
			entries = append(entries, e)
		}
	}
	reached := make([]upstream.Server, len(entries))
	for i, e := range entries {
		reached[i] = servers.OfEntry(e)
	}
	servers.AskAll(c, lists, reached, func(int) []string { return nil })
	for i, e := range entries {
		lists[i].Tools = slices.DeleteFunc(lists[i].Tools, func(t doctor.Tool) bool { return !e.Shows(t.Name) })
	}
	return lists, nil
}
