package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// MaxPath limits the path of a file in a call, in bytes.
const MaxPath = 1000

// Path is a parameter with the path of a file in the workspace: relative to the workspace or
// absolute.
type Path struct {
	Workspace string // empty = there is no workspace
	Parameter string
	Value     string

	// Example is a path, for hints.
	Example string
}

// Local returns the path relative to the workspace. The file may still be outside, behind a link;
// an [os.Root] refuses to open it.
func (p Path) Local() (string, error) {
	if p.Workspace == "" {
		return "", None()
	}
	name := p.below()
	if !filepath.IsLocal(name) || strings.ContainsRune(p.Value, 0) {
		return "", toolfold.Errorf(PathNotUsable, "%s %s is not inside the workspace", p.Parameter, shorten.Quoted(p.Value)).
			About(toolfold.ProblemRefused, p.Parameter).WithHint("name a file such as %s", p.Example)
	}
	return name, nil
}

// None returns the error of a call that needs a workspace, on a server without one.
func None() *toolfold.Error {
	return toolfold.Errorf(PathNotUsable, "this server has no workspace").WithHint("start it with --workspace")
}

// below returns the path relative to the workspace. It may lead out of the workspace.
func (p Path) below() string {
	name := filepath.FromSlash(p.Value)
	if filepath.IsAbs(name) {
		below, err := filepath.Rel(p.Workspace, name)
		if err != nil {
			below = ".."
		}
		name = below
	}
	return filepath.Clean(name)
}

// Read returns the text of the file, of at most limit bytes. A missing file is a toolfold.Error. An
// error about its content does not contain the path of the workspace.
func (p Path) Read(limit int64) ([]byte, error) {
	local, err := p.Local()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.Workspace)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	text, err := safefile.Read(root, local, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, toolfold.Errorf(PathNotUsable, "there is no file %s", shorten.Quoted(p.Value)).
			About(toolfold.ProblemRefused, p.Parameter).WithHint("paths are below the workspace")
	}
	if reason := new(fs.PathError); errors.As(err, &reason) {
		err = reason.Err
	}
	return text, err
}

// writing serializes the check and write of files in this process.
var writing sync.Mutex

// Target is a file in the workspace that may be written.
type Target struct {
	Name     string // relative to the workspace, with slashes
	Replaces bool   // whether there is a file already

	path Path
	root *os.Root
	mode fs.FileMode
}

// Target checks that the file may be written: a visible name inside the workspace, without a file,
// or with a regular file that replace allows to be replaced. A new file gets the mode, a replaced
// one keeps its own. Target changes nothing. The caller must close it.
func (p Path) Target(mode fs.FileMode, replace func(root *os.Root, name string, size int64) error) (*Target, error) {
	if p.Workspace == "" {
		return nil, None()
	}
	name := p.below()
	if len(p.Value) > MaxPath || !filepath.IsLocal(name) || name == "." || strings.HasSuffix(p.Value, "/") ||
		strings.ContainsFunc(p.Value, func(r rune) bool { return r < ' ' }) {
		return nil, p.unusable("is not the name of a file inside the workspace")
	}
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if strings.HasPrefix(part, ".") {
			return nil, p.unusable("leads to a hidden file or folder")
		}
	}
	root, err := os.OpenRoot(p.Workspace)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	writing.Lock()
	t := &Target{Name: filepath.ToSlash(name), path: p, root: root, mode: mode}
	if err := t.look(replace); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (p Path) unusable(reason string) *toolfold.Error {
	return toolfold.Errorf(PathNotUsable, "%s %s; nothing was written", p.Parameter, reason).WithHint("name a file such as %s", p.Example)
}

// Close ends the use of the target.
func (t *Target) Close() {
	writing.Unlock()
	_ = t.root.Close() // read-only so far
}

// look checks whether an existing target may be replaced.
func (t *Target) look(replace func(root *os.Root, name string, size int64) error) error {
	info, err := t.root.Lstat(t.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return t.folders()
	}
	if err != nil {
		return t.path.unusable("leads through a file or out of the workspace")
	}
	if !info.Mode().IsRegular() {
		return t.path.unusable("leads to a folder, a link or a device")
	}
	t.Replaces, t.mode = true, info.Mode().Perm()
	return replace(t.root, t.Name, info.Size())
}

// folders checks that the missing folders above a target can be created.
func (t *Target) folders() error {
	for dir := filepath.Dir(filepath.FromSlash(t.Name)); dir != "."; dir = filepath.Dir(dir) {
		info, err := t.root.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := t.root.Lstat(dir); err == nil {
				return t.path.unusable("leads through a link to nowhere")
			}
			continue
		}
		if err != nil || !info.IsDir() {
			return t.path.unusable("leads through a file or out of the workspace")
		}
		return nil
	}
	return nil
}

// Write writes a text atomically and creates the folders above it. The text is first written to a
// file beside the target and synced. A new file then gets its name by a link, which fails if
// another program created the file meanwhile; an existing file is replaced by a rename. A killed
// process leaves at most a file that ends in .tmp.
func (t *Target) Write(text []byte) error {
	name := filepath.FromSlash(t.Name)
	if err := t.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("making folders for %s: %w", t.path.Parameter, err)
	}
	temp := filepath.Join(filepath.Dir(name), "."+rand.Text()+".tmp")
	if err := t.writeSynced(temp, text); err != nil {
		_ = t.root.Remove(temp)
		return fmt.Errorf("writing the file at %s: %w", t.path.Parameter, err)
	}
	place := t.root.Link
	if t.Replaces {
		place = t.root.Rename
	}
	err := place(temp, name)
	if err != nil || !t.Replaces {
		_ = t.root.Remove(temp)
	}
	if err != nil && !t.Replaces && !errors.Is(err, fs.ErrExist) {
		err = t.writeSynced(name, text) // a file system without hard links
	}
	if errors.Is(err, fs.ErrExist) {
		return toolfold.Errorf(FileExists, "%s came to be meanwhile; nothing was written", shorten.Quoted(t.Name)).
			WithHint("call again, or choose another %s", t.path.Parameter)
	}
	if err != nil {
		return fmt.Errorf("putting the file at %s in place: %w", t.path.Parameter, err)
	}
	return nil
}

func (t *Target) writeSynced(name string, text []byte) error {
	file, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, t.mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}
