// Package trust stores the list of folders that a user trusts: toolfold only uses agents, abilities
// and workflows of trusted folders.
//
// A trusted folder includes the folders below it, as in editors. The list has absolute paths with
// symbolic links resolved, so a link cannot lend one folder the trust of another.
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

// maxSize bounds the file, in bytes. It suffices for several thousand folders.
const maxSize = 1 << 20

// Folders is the list in a file. It is safe for concurrent use, also by several processes. Each
// method reads the file, so changes take effect at once.
type Folders struct {
	path string
}

// Open returns the list in the file at path, which need not exist yet. It does not read it.
func Open(path string) *Folders { return &Folders{path: path} }

// content is the JSON of the file.
type content struct {
	Folders []string `json:"folders"`

	// IDs distinguish a folder from another one at the same path. It lacks folders that were added
	// on a system without such ids.
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

// Trusted reports whether dir or a folder around it is in the list. It reports false if the folder
// does not exist or the list cannot be read.
func (f *Folders) Trusted(dir string) bool {
	by, err := f.By(dir)
	return err == nil && by != ""
}

// By returns the outermost entry of the list that makes dir trusted, or "".
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

// Replaced returns the entry that makes dir trusted, if its path now has another folder than when
// it was added. Otherwise it returns "".
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

// Add adds an existing folder and returns its resolved path. It rejects the root of a file system
// and the user's home directory, because that would trust all future downloads below them.
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

// Remove removes a folder, which need not exist any more, and returns its path in the list. It is
// an error if the list does not contain it.
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

// edit changes the list under a lock against other processes.
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

// resolve returns the absolute path of an existing folder, with symbolic links resolved.
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
