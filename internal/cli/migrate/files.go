package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/migration"
	"github.com/toolfold/toolfold/migration/files"
)

// maxMigrated is the largest size of a searched file, in bytes.
const maxMigrated = 16 << 20

// notMigrated lists folders of dependencies and generated files.
var notMigrated = []string{".git", "node_modules", "vendor", "dist", "build", "target", ".venv", "__pycache__"}

// repository holds the files that migrate searches.
type repository struct {
	search       files.Search
	files        []legacyFile // files that name legacy tools, sorted by path
	searched     int          // number of searched files
	otherServers map[string][]string
	ignored      int // number of names left to other servers or to the repository's own tools

	// unread maps skipped files and folders to the reason. In some of these, only names with a server's
	// name in front were searched.
	unread map[string]string
	order  []string // keys of unread
}

// legacyFile is a file that names legacy tools.
type legacyFile struct {
	root    *os.Root
	name    string // below root
	display string
	before  []byte
	result  files.Result
}

const (
	unknownKind = "of a kind that is not read: only names with a server in front are looked for"
	binaryFile  = "not text"
	othersWrite = "a folder of dependencies or generated files"
)

func (r *repository) leave(path, why string) {
	if _, known := r.unread[path]; !known {
		r.unread[path] = why
		r.order = append(r.order, path)
	}
}

// openRepository searches the paths of a command: first for servers and for tools that the repository
// defines itself, then for uses. The caller closes the roots of its files.
func openRepository(c *cli.Context) (*repository, error) {
	if c.NArg() == 0 {
		return nil, env.UsageError("migrate %s takes files or folders", c.Command.Name)
	}
	fold := consolidate.Fold(c.String("fold"))
	if fold != consolidate.ByFamily && fold != consolidate.None {
		return nil, env.UsageError("--fold is family, or none if the server runs with --fold=none, not %q", fold)
	}
	r := &repository{otherServers: map[string][]string{}, unread: map[string]string{}, search: files.Search{
		Rewriter: migration.NewRewriter(app.Families()), Servers: c.StringSlice("server"), Own: map[string]bool{},
		Widen: c.Bool("widen"), Exact: fold == consolidate.None,
	}}
	r.userServers()
	var all []legacyFile
	for _, path := range c.Args().Slice() {
		files, err := r.collect(path)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	for _, f := range all {
		r.servers(f.display, f.before)
		maps.Copy(r.search.Own, r.search.Defines(f.name, string(f.before)))
	}
	r.search.Foreign = len(r.search.Servers) == 0 &&
		!slices.ContainsFunc(all, func(f legacyFile) bool { return namesToolfold().Match(f.before) })
	for _, f := range all {
		f.result = r.search.File(f.name, f.before)
		r.ignored += f.result.Ignored
		for server, names := range f.result.OtherServers {
			r.otherServers[server] = append(r.otherServers[server], names...)
		}
		if len(f.result.Uses) > 0 {
			r.files = append(r.files, f)
		}
	}
	return r, nil
}

// namesToolfold matches this server's name in any text.
var namesToolfold = regex.Lazy(`(?i)toolfold`)

// collect reads the files below a path.
func (r *repository) collect(path string) (found []legacyFile, err error) {
	dir, first := path, "."
	if info, err := os.Stat(path); err != nil {
		return nil, env.UsageError("%v", err)
	} else if !info.IsDir() {
		dir, first = filepath.Dir(path), filepath.Base(path)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(root.FS(), first, func(name string, entry fs.DirEntry, err error) error {
		display := filepath.Join(dir, filepath.FromSlash(name))
		switch {
		case err != nil:
			r.leave(display, err.Error())
			return nil
		case entry.IsDir() && name != "." && slices.Contains(notMigrated, entry.Name()):
			if entry.Name() != ".git" {
				r.leave(display, othersWrite)
			}
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			r.leave(display, "no regular file")
			return nil
		}
		text, err := safefile.Read(root, name, maxMigrated)
		switch {
		case err != nil:
			r.leave(display, err.Error())
			return nil
		case bytes.IndexByte(text[:min(len(text), 8<<10)], 0) >= 0:
			r.leave(display, binaryFile)
			return nil
		case !files.Reads(name):
			r.leave(display, unknownKind)
		default:
			r.searched++
		}
		found = append(found, legacyFile{root: root, name: name, display: display, before: text})
		return nil
	})
	return found, err
}

// userServers adds the names of this server in the user's clients.
func (r *repository) userServers() {
	for _, h := range hosts.Hosts {
		if h.Path == nil {
			continue
		}
		if path, err := h.Path(); err == nil {
			if text, err := os.ReadFile(path); err == nil {
				r.servers(path, text)
			}
		}
	}
}

// runsToolfold matches a word of a command that starts this server.
var runsToolfold = regex.Lazy(`(^|[/\\@])toolfold([:@.].*)?$`)

// servers adds the names of this server in a client's file.
func (r *repository) servers(path string, text []byte) {
	switch filepath.Ext(path) {
	case ".json", ".jsonc", ".toml", ".yaml", ".yml":
	default:
		return
	}
	h := hosts.Owner(path, text)
	if h == nil {
		return
	}
	entries, _ := h.Servers(text, filepath.Dir(path)) // an unreadable file names no servers
	for _, e := range entries {
		if slices.ContainsFunc(e.Command, runsToolfold().MatchString) && !slices.Contains(r.search.Servers, e.Name) {
			r.search.Servers = append(r.search.Servers, e.Name)
		}
	}
}

func checkAction(c *cli.Context) error {
	format := c.String("format")
	if c.Bool("json") {
		format = "json"
	}
	r, err := openRepository(c)
	if err != nil {
		return err
	}
	uses := 0
	for _, f := range r.files {
		uses += len(f.result.Uses)
	}
	switch format {
	case "text":
		r.print(c)
		r.printUnread(c)
	case "json":
		err = r.printJSON(c)
	case "sarif":
		_, err = fmt.Fprintf(c.App.Writer, "%s\n", r.sarif())
		r.printUnread(c)
	default:
		return env.UsageError("--format is text, json or sarif, not %q", format)
	}
	switch {
	case err != nil:
		return err
	case uses > 0:
		found := english.Count(uses, "use of a legacy tool", "uses of legacy tools")
		return errors.New(found + "; toolfold migrate rewrite shows how they would change")
	}
	return nil
}

func (r *repository) print(c *cli.Context) {
	for _, f := range r.files {
		for _, u := range f.result.Uses {
			fmt.Fprintf(c.App.Writer, "%s:%d: %s → %s", f.display, u.Line, u.Name, u.Now)
			if u.Note != "" {
				fmt.Fprintf(c.App.Writer, " (%s)", u.Note)
			}
			fmt.Fprintln(c.App.Writer)
		}
	}
}

// maxNamed is how many unread files are named.
const maxNamed = 20

// printUnread lists the skipped files, at most maxNamed, and servers that may be this one.
func (r *repository) printUnread(c *cli.Context) {
	if n := len(r.order); n > 0 {
		fmt.Fprintf(c.App.ErrWriter, "%s read, %d not:\n", english.Count(r.searched, "file", "files"), n)
		for i, path := range r.order {
			if i == maxNamed {
				fmt.Fprintf(c.App.ErrWriter, "  and %d more: check --json names all\n", n-i)
				break
			}
			fmt.Fprintf(c.App.ErrWriter, "  %s: %s\n", path, r.unread[path])
		}
	}
	for _, server := range slices.Sorted(maps.Keys(r.otherServers)) {
		fmt.Fprintf(c.App.ErrWriter, "%s of the server %q as this one has had them: if it is toolfold, add --server %s\n",
			english.Count(len(r.otherServers[server]), "name", "names"), server, server)
	}
	switch own := slices.Sorted(maps.Keys(r.search.Own)); {
	case r.ignored == 0:
	case r.search.Foreign:
		fmt.Fprintf(c.App.ErrWriter, "no file and no client's settings name toolfold, so %s without a server in front stay as they are; "+
			"if they are toolfold's, add --server toolfold\n", english.Count(r.ignored, "name", "names"))
	default:
		fmt.Fprintf(c.App.ErrWriter, "%s left to tools that these files define themselves: %s\n",
			english.Count(r.ignored, "name is", "names are"), strings.Join(own, ", "))
	}
}

// migratedUse is a use as check --json prints it.
type migratedUse struct {
	File string `json:"file"`
	files.Use
}

type unreadFile struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

func (r *repository) printJSON(c *cli.Context) error {
	uses, unread := []migratedUse{}, []unreadFile{}
	for _, f := range r.files {
		for _, u := range f.result.Uses {
			uses = append(uses, migratedUse{f.display, u})
		}
	}
	for _, path := range r.order {
		unread = append(unread, unreadFile{path, r.unread[path]})
	}
	encoder := json.NewEncoder(c.App.Writer)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(map[string]any{
		"uses": uses, "read": r.searched, "unread": unread, "servers": r.search.Servers, "others": r.otherServers,
		"own": slices.Sorted(maps.Keys(r.search.Own)), "left": r.ignored,
	})
}

func rewriteFilesAction(c *cli.Context) error {
	r, err := openRepository(c)
	if err != nil {
		return err
	}
	left, changed := 0, 0
	for _, f := range r.files {
		for _, u := range f.result.Uses {
			if u.ByHand {
				left++
				fmt.Fprintf(c.App.ErrWriter, "%s:%d: %s: by hand: %s (%s)\n", f.display, u.Line, u.Name, u.Now, u.Note)
			} else if u.Note != "" {
				fmt.Fprintf(c.App.ErrWriter, "%s:%d: %s: %s\n", f.display, u.Line, u.Name, u.Note)
			}
		}
		if string(f.before) == string(f.result.Now) {
			continue
		}
		changed++
		if err := f.rewrite(c); err != nil {
			return err
		}
	}
	r.printUnread(c)
	if left > 0 {
		return errors.New(english.Count(left, "use is", "uses are") + " left to be changed by hand")
	}
	if changed > 0 && !c.Bool("write") {
		fmt.Fprintln(c.App.ErrWriter, "nothing is written yet: add --write")
	}
	return nil
}
