// Package trust keeps the list of folders that a user trusts: toolfold uses
// the agents, abilities and workflows in a folder only after its user said so.
//
// A trusted folder includes the folders below it, as in editors. Folders are
// listed by absolute path with symbolic links resolved, so a link cannot lend
// one folder the trust of another.
package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/system/safefile"
)

// maxSize bounds the file, in bytes: room for several thousand folders.
const maxSize = 1 << 20

// Folders is the list in one file. It is safe for concurrent use, also by
// several processes. Each method reads the file, so changes take effect at
// once.
type Folders struct {
	path string
}

// Open returns the list in the file at path, which need not exist yet. It reads
// nothing.
func Open(path string) *Folders { return &Folders{path: path} }

// content is the JSON of the file.
type content struct {
	Folders []string `json:"folders"`

	// IDs tell a folder from another one at the same path. Folders that were added
	// where the system has no such ids are not in it.
	IDs map[string]string `json:"ids,omitempty"`
}

// List returns the trusted folders, sorted.
func (f *Folders) List() ([]string, error) {
	c, err := f.read()
	return c.Folders, err
}

func (f *Folders) read() (c content, err error) {
	root, err := os.OpenRoot(filepath.Dir(f.path))
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, nil
	}
	if err != nil {
		return content{}, fmt.Errorf("reading trusted folders: %w", err)
	}
	defer root.Close()
	text, err := safefile.Read(root, filepath.Base(f.path), maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return content{}, fmt.Errorf("reading trusted folders in %s: %w", f.path, err)
	}
	return c, nil
}

// Trusted reports whether dir or a folder around it is in the list. It reports
// false for a folder that does not exist and when the list cannot be read.
func (f *Folders) Trusted(dir string) bool {
	by, err := f.By(dir)
	return err == nil && by != ""
}

// By returns the entry of the list that makes dir trusted, the outermost one,
// or an empty string where none does.
func (f *Folders) By(dir string) (string, error) {
	dir, err := resolve(dir)
	if err != nil {
		return "", err
	}
	list, err := f.List()
	if err != nil {
		return "", err
	}
	for _, folder := range list {
		if dir == folder || strings.HasPrefix(dir, folder+string(filepath.Separator)) {
			return folder, nil
		}
	}
	return "", nil
}

// Replaced returns the entry of the list that makes dir trusted where another folder
// stands at its path than when it was added; else an empty string.
func (f *Folders) Replaced(dir string) string {
	by, err := f.By(dir)
	if err != nil || by == "" {
		return ""
	}
	c, err := f.read()
	if id := identity(by); err != nil || id == "" || c.IDs[by] == "" || id == c.IDs[by] {
		return ""
	}
	return by
}

// Add adds an existing folder and returns its resolved path. It refuses the
// root of a file system and the user's home directory: all that is ever
// downloaded below them would be trusted.
func (f *Folders) Add(ctx context.Context, dir string) (string, error) {
	dir, err := resolve(dir)
	if err != nil {
		return "", err
	}
	home, _ := os.UserHomeDir()
	if home, err = filepath.EvalSymlinks(home); filepath.Dir(dir) == dir || err == nil && dir == home {
		return "", fmt.Errorf("%s is not added: everything below it would be trusted; name the project's folder", dir)
	}
	return dir, f.edit(ctx, func(c *content) {
		if !slices.Contains(c.Folders, dir) {
			c.Folders = append(c.Folders, dir)
		}
		if id := identity(dir); id != "" {
			if c.IDs == nil {
				c.IDs = map[string]string{}
			}
			c.IDs[dir] = id
		}
	})
}

// Remove removes a folder, which need not exist any more, and returns the path
// that it had in the list. It is an error when the list does not have it.
func (f *Folders) Remove(ctx context.Context, dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	names := []string{absolute}
	if resolved, err := resolve(dir); err == nil {
		names = append(names, resolved)
	}
	removed := ""
	err = f.edit(ctx, func(c *content) {
		c.Folders = slices.DeleteFunc(c.Folders, func(folder string) bool {
			if !slices.Contains(names, folder) {
				return false
			}
			removed = folder
			return true
		})
		delete(c.IDs, removed)
	})
	if err != nil || removed != "" {
		return removed, err
	}
	if by, err := f.By(dir); err == nil && by != "" {
		return "", fmt.Errorf("%s is trusted because %s is: remove that", absolute, by)
	}
	return "", fmt.Errorf("%s is not in the list of trusted folders", absolute)
}

// edit changes the list under a lock that keeps other processes out.
func (f *Folders) edit(ctx context.Context, change func(*content)) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("writing trusted folders: %w", err)
	}
	unlock, err := safefile.Lock(ctx, f.path+".lock")
	if err != nil {
		return fmt.Errorf("writing trusted folders: %w", err)
	}
	defer unlock()
	c, err := f.read()
	if err != nil {
		return err
	}
	change(&c)
	slices.Sort(c.Folders)
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("writing trusted folders: %w", err)
	}
	if len(text) > maxSize {
		return fmt.Errorf("writing trusted folders: more than %d bytes: remove some", maxSize)
	}
	root, err := os.OpenRoot(filepath.Dir(f.path))
	if err != nil {
		return fmt.Errorf("writing trusted folders: %w", err)
	}
	defer root.Close()
	if err := safefile.Replace(root, filepath.Base(f.path), append(text, '\n')); err != nil {
		return fmt.Errorf("writing trusted folders: %w", err)
	}
	return nil
}

// resolve returns the absolute path of an existing folder, without symbolic
// links.
func resolve(dir string) (string, error) {
	named, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	dir, err = filepath.EvalSymlinks(named)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no folder %s", named)
	case err != nil:
		return "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", dir)
	}
	return dir, nil
}
