package design

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// maxPath limits an outputPath, in bytes.
const maxPath = 1000

// writing serializes the check and write of files in this process.
var writing sync.Mutex

// target is a file in the workspace that may be written.
type target struct {
	root *os.Root
	name string // relative to the workspace, with slashes

	// replace is true if an existing file may be replaced; mode is the mode of the new file.
	replace bool
	mode    fs.FileMode
}

// Writes returns the file that a call would write.
func (s *Service) Writes(_ context.Context, out Output) ([]string, error) {
	if out.OutputPath == "" {
		return nil, nil
	}
	return []string{out.OutputPath}, nil
}

// open checks that a design may be written to a path: a visible name inside the workspace, without
// a file, with a file that toolfold wrote, or with any regular file if the caller sets overwrite.
// It changes nothing. The caller must close the target.
func (s *Service) open(ctx context.Context, out Output) (*target, error) {
	name, err := s.inside(out.OutputPath)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.workspace)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	writing.Lock()
	t := &target{root: root, name: filepath.ToSlash(name), mode: 0o644}
	if err := s.look(ctx, t, out.Overwrite); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *target) close() {
	writing.Unlock()
	_ = t.root.Close() // read-only so far
}

// below returns a path relative to the workspace. It may lead out of the workspace.
func (s *Service) below(path string) string {
	name := filepath.FromSlash(path)
	if filepath.IsAbs(name) {
		below, err := filepath.Rel(s.workspace, name)
		if err != nil {
			below = ".."
		}
		name = below
	}
	return filepath.Clean(name)
}

// inside returns a path as a name inside the workspace.
func (s *Service) inside(path string) (string, error) {
	if s.workspace == "" {
		return "", toolfold.Errorf(workspace.PathNotUsable, "there is no workspace to write to").
			WithHint("leave outputPath out; design.get has the text")
	}
	name := s.below(path)
	if len(path) > maxPath || !filepath.IsLocal(name) || name == "." || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' }) ||
		strings.HasSuffix(path, "/") {
		return "", unusable("is not the name of a file inside the workspace")
	}
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if strings.HasPrefix(part, ".") {
			return "", unusable("leads to a hidden file or folder")
		}
	}
	return name, nil
}

func unusable(reason string) *toolfold.Error {
	return toolfold.Errorf(workspace.PathNotUsable, "outputPath %s; nothing was written", reason).WithHint("name a file such as docs/api.yaml")
}

// look checks whether an existing target may be replaced.
func (s *Service) look(ctx context.Context, t *target, overwrite bool) error {
	info, err := t.root.Lstat(t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return s.folders(t)
	}
	if err != nil {
		return unusable("leads through a file or out of the workspace")
	}
	if !info.Mode().IsRegular() {
		return unusable("leads to a folder, a link or a device")
	}
	t.replace, t.mode = true, info.Mode().Perm()
	if overwrite {
		return nil
	}
	exists := toolfold.Errorf(Exists, "%s exists, and toolfold did not write its content; nothing was written", shorten.Quoted(t.name)).
		WithHint("choose another outputPath, or pass overwrite: true to replace it")
	if info.Size() > MaxBytes { // no design is larger
		return exists
	}
	text, err := t.root.ReadFile(t.name)
	if err != nil {
		return fmt.Errorf("reading the file at outputPath: %w", err)
	}
	ours, err := s.store.Wrote(ctx, string(text))
	if err != nil {
		return fmt.Errorf("looking for a design: %w", err)
	}
	if !ours {
		return exists
	}
	return nil
}

// folders checks that the missing folders above a target can be created.
func (s *Service) folders(t *target) error {
	for dir := filepath.Dir(filepath.FromSlash(t.name)); dir != "."; dir = filepath.Dir(dir) {
		info, err := t.root.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := t.root.Lstat(dir); err == nil {
				return unusable("leads through a link to nowhere")
			}
			continue
		}
		if err != nil || !info.IsDir() {
			return unusable("leads through a file or out of the workspace")
		}
		return nil
	}
	return nil
}

// write writes a text atomically and creates the folders above it. The text is first written to a
// file beside the target and synced. A new file then gets its name by a link, which fails if
// another program created the file meanwhile; an existing file is replaced by a rename. A killed
// process leaves at most a file that ends in .tmp.
func (t *target) write(text string) error {
	name := filepath.FromSlash(t.name)
	if err := t.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("making folders for outputPath: %w", err)
	}
	temp := filepath.Join(filepath.Dir(name), "."+rand.Text()+".tmp")
	if err := t.writeSynced(temp, text); err != nil {
		_ = t.root.Remove(temp)
		return fmt.Errorf("writing the file at outputPath: %w", err)
	}
	place := t.root.Link
	if t.replace {
		place = t.root.Rename
	}
	err := place(temp, name)
	if err != nil || !t.replace {
		_ = t.root.Remove(temp)
	}
	if err != nil && !t.replace && !errors.Is(err, fs.ErrExist) {
		err = t.writeSynced(name, text) // a file system without hard links
	}
	if errors.Is(err, fs.ErrExist) {
		return toolfold.Errorf(Exists, "%s came to be meanwhile; nothing was written", shorten.Quoted(t.name)).
			WithHint("call again, or choose another outputPath")
	}
	if err != nil {
		return fmt.Errorf("putting the file at outputPath in place: %w", err)
	}
	return nil
}

func (t *target) writeSynced(name, text string) error {
	file, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, t.mode)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Sync(), file.Close())
}
