// Package clientfile reads and edits files of other programs: settings of clients and scripts of git.
// It backs up existing files, and does not lose concurrent changes of other programs.
package clientfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/jsonedit"
)

// maxClientFile is the largest size of a client's file, in bytes.
const maxClientFile = 64 << 20

// Binary returns a path of this program that clients can start. It prefers the one on PATH if that is
// the same file, because a link there outlives its target.
func Binary() (string, error) {
	binary, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the binary: %w", err)
	}
	switch slash := filepath.ToSlash(binary); {
	case strings.Contains(slash, "/go-build") && strings.Contains(slash, "/exe/"):
		return "", errors.New("go run leaves no binary that a client could start: go install ./cmd/toolfold first")
	case strings.Contains(slash, "/_npx/"):
		return "", errors.New("npx removes its binary some time: npm install -g toolfold first, then toolfold setup")
	}
	if found, err := exec.LookPath("toolfold"); err == nil && filepath.IsAbs(found) && SameFile(found, binary) {
		return found, nil
	}
	return binary, nil
}

// SameFile reports whether two paths lead to the same file.
func SameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// Read reads the file of a client.
func Read(path string) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return safefile.Read(root, filepath.Base(path), maxClientFile)
}

// Backup is the suffix of setup's only backup of a file, which has the text before setup wrote it.
const Backup = ".toolfold.bak"

// BackupPath returns the path of a file's backup with that suffix. The backup lies beside the file. For
// a file in a git working tree it lies in the data folder, so that it is not committed.
func BackupPath(path, ending string) (string, error) {
	folder := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	path = filepath.Join(folder, filepath.Base(path))
	if _, ok := git.Top(folder); !ok {
		return path + ending, nil
	}
	data, err := storage.DataDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(data, "backups", hex.EncodeToString(sum[:8])+"-"+filepath.Base(path)+ending), nil
}

// backupPlaces returns the possible paths of setup's backup: the current one, and the one beside the
// file that older versions used.
func backupPlaces(path string) ([]string, error) {
	place, err := BackupPath(path, Backup)
	return []string{place, path + Backup}, err
}

// ReadBackup returns setup's backup of a file and its path. Both are empty if there is no backup.
func ReadBackup(path string) (text []byte, backup string, err error) {
	places, err := backupPlaces(path)
	if err != nil {
		return nil, "", err
	}
	for _, place := range places {
		text, err := Read(place)
		if err == nil {
			return text, place, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, "", fmt.Errorf("reading %s: %w", place, err)
		}
	}
	return nil, "", nil
}

// RemoveBackups removes setup's backup of a file, if there is one.
func RemoveBackups(path string) error {
	places, err := backupPlaces(path)
	if err != nil {
		return err
	}
	for _, place := range places {
		if err := os.Remove(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// FollowLinks returns the path of a file with links resolved, because dotfiles are often links. It rejects
// a broken link anywhere in the path, since a write would replace it by a file.
func FollowLinks(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		switch {
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			if _, err := os.Stat(at); err == nil || errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("%s is a link to nothing: make its target, or remove the link", at)
			}
			return "", fmt.Errorf("%s is a link that leads to no file, perhaps in a circle: remove it, or let it lead to the file", at)
		case err == nil || filepath.Dir(at) == at:
			return path, nil
		}
	}
}

// At adds the path to an error about a file, as PATH:LINE:COLUMN if the error has a position.
func At(path string, err error) error {
	var fault *jsonedit.SyntaxError
	if errors.As(err, &fault) {
		return fmt.Errorf("%s:%d:%d: %s", path, fault.Line, fault.Column, fault.Reason)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// EditResult is the result of an edit.
type EditResult struct {
	Path    string // with links resolved
	Backup  string // path of the former text's backup; empty for a new file
	After   []byte
	Changed bool
	IsNew   bool // the file did not exist
}

// Edit replaces the text of a file by the result of edit, after a backup with the suffix ending, see
// BackupPath. An existing backup stays, and an empty ending makes no backup. A missing file counts as
// empty. If another program writes the file meanwhile, edit is called again.
func Edit(path, ending string, edit func([]byte) ([]byte, error)) (done EditResult, err error) {
	if path, err = FollowLinks(path); err != nil {
		return done, err
	}
	for range 5 {
		before, err := Read(path)
		isNew := errors.Is(err, fs.ErrNotExist)
		if err != nil && !isNew {
			return done, fmt.Errorf("reading %s: %w", path, err)
		}
		done.Path, done.IsNew = path, isNew
		if done.After, err = edit(before); err != nil {
			return done, At(path, err)
		}
		if bytes.Equal(before, done.After) {
			return done, nil
		}
		if now, err := Read(path); isNew != errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, before) {
			continue // before making a backup
		}
		if !isNew && ending != "" {
			if done.Backup, err = BackUp(path, ending, before); err != nil {
				return done, fmt.Errorf("backing up %s: %w", path, err)
			}
		}
		if err := Replace(path, before, done.After); errors.Is(err, ErrChanged) {
			continue
		} else if err != nil {
			return done, err
		}
		done.Changed = true
		return done, nil
	}
	return done, Restless(path)
}

// Restless returns the error for a file that keeps changing.
func Restless(path string) error {
	return fmt.Errorf("%s changes all the time: close the programs that write it, and try again", path)
}

// ErrChanged is returned by [Replace] if the file has changed.
var ErrChanged = errors.New("it was changed meanwhile")

// Replace replaces the text of a file, or creates the file if before is empty. It returns [ErrChanged]
// if the file's text is not before.
func Replace(path string, before, after []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	now, err := safefile.Read(root, filepath.Base(path), maxClientFile)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("reading %s: %w", path, err)
	case !bytes.Equal(now, before):
		return fmt.Errorf("%s: %w", path, ErrChanged)
	}
	if err := safefile.Replace(root, filepath.Base(path), after); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// BackUp writes a backup of text with the file's mode, and returns its path. An existing backup stays,
// and the path is empty.
func BackUp(path, ending string, text []byte) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	backup, err := BackupPath(path, ending)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(backup), 0o700); err != nil {
		return "", err
	}
	file, err := os.OpenFile(backup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if errors.Is(err, fs.ErrExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(backup)) // half a backup would stay for good
	}
	return backup, nil
}
