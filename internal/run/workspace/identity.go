package workspace

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// maxName bounds the name of a workspace, in bytes.
const maxName = 500

// Name returns the name of the workspace at dir, which owns its tasks. It is the setting, if there
// is one. In a trusted folder it is the origin of the surrounding repository with the path from its
// root to dir, so that clones on several machines are one workspace. Otherwise it is this machine
// and the path, because an untrusted folder could claim the origin of another workspace. Nothing in
// the repository is run, and the name contains no credentials of its URL.
func Name(dir, setting string, trusted bool) string {
	name := setting
	if name == "" && trusted {
		name = repositoryName(dir)
	}
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		name = host + ":" + filepath.ToSlash(absolute(dir))
	}
	return name[:min(len(name), maxName)]
}

// absolute returns the absolute path of a folder with links resolved, as far as possible.
func absolute(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

// repositoryName returns the origin of the repository around dir, with the path from its root to
// dir, or "".
func repositoryName(dir string) string {
	dir = absolute(dir)
	for root := dir; ; root = filepath.Dir(root) {
		config, found := repositoryConfig(filepath.Join(root, ".git"))
		if found {
			origin := normalise(originOf(config))
			if below, err := filepath.Rel(root, dir); origin != "" && err == nil && below != "." {
				origin += "//" + filepath.ToSlash(below)
			}
			return origin
		}
		if filepath.Dir(root) == root {
			return ""
		}
	}
}

// repositoryConfig returns the configuration file of a repository. git is its .git: a folder, or in
// a linked worktree a file that names one.
func repositoryConfig(git string) (config string, found bool) {
	info, err := os.Stat(git)
	if err != nil {
		return "", false
	}
	if info.IsDir() {
		return filepath.Join(git, "config"), true
	}
	folder, ok := strings.CutPrefix(firstLine(git), "gitdir: ")
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(filepath.Dir(git), folder)
	}
	if common := firstLine(filepath.Join(folder, "commondir")); common != "" {
		if !filepath.IsAbs(common) {
			common = filepath.Join(folder, common)
		}
		folder = common
	}
	return filepath.Join(folder, "config"), true
}

func firstLine(file string) string {
	line, _, _ := strings.Cut(readPlain(file), "\n")
	return strings.TrimSpace(line)
}

// maxConfig bounds how much of a repository's configuration is read, in bytes.
const maxConfig = 1 << 20

// readPlain returns the beginning of a regular file, or "". It never waits for a pipe.
func readPlain(file string) string {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil && !errors.Is(err, fs.ErrClosed) {
		return ""
	}
	return string(text)
}

// originOf returns the URL of the remote origin, or "".
func originOf(config string) string {
	lines := bufio.NewScanner(strings.NewReader(readPlain(config)))
	lines.Buffer(nil, maxConfig)
	within := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			within = strings.HasPrefix(line, `[remote "origin"]`)
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		if within && strings.EqualFold(strings.TrimSpace(name), "url") {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// normalise returns the host and path of a repository's URL, independent of the protocol. It is ""
// for a local path, which is meaningless elsewhere.
func normalise(origin string) string {
	host, place := "", ""
	if u, err := url.Parse(origin); err == nil && u.Host != "" {
		host, place = u.Hostname(), u.Path
	} else if before, after, found := strings.Cut(origin, ":"); found && !strings.ContainsAny(before, `/\`) &&
		!strings.Contains(origin, "://") {
		// user@host:path, as for ssh. A single letter is a drive.
		_, host, found = strings.Cut(before, "@")
		if !found {
			host = before
		}
		place = after
		if len(host) < 2 {
			return ""
		}
	}
	place = strings.TrimSuffix(strings.Trim(path.Clean("/"+place), "/"), ".git")
	if host == "" || place == "" {
		return ""
	}
	return strings.ToLower(host) + "/" + place
}
