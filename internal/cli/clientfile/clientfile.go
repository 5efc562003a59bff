// Package clientfile reads and edits files of others: settings of clients and scripts of git. A text that
// was there has a backup, and what another program writes meanwhile is not lost.
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

// maxClientFile bounds the file of a client, in bytes.
const maxClientFile = 64 << 20

// Binary returns the path of this program, which clients can start: the one on the PATH where
// that is the same file, since it outlives what it links to.
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
	if found, err := exec.LookPath("toolfold"); err == nil && filepath.IsAbs(found) && sameFile(found, binary) {
		return found, nil
	}
	return binary, nil
}

func sameFile(a, b string) bool {
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

// Backup is the ending of the one backup that setup keeps of a file: as it was before
// setup wrote to it.
const Backup = ".toolfold.bak"

// BackupPath returns where the backup of a file with that ending goes: beside the file, or into
// the data folder if the file is in a working tree of git, where a commit could take it.
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

// backupPlaces returns the paths at which the backup of setup can be: where it goes now, and beside
// the file, where older versions put it.
func backupPlaces(path string) ([]string, error) {
	place, err := BackupPath(path, Backup)
	return []string{place, path + Backup}, err
}

// ReadBackup returns the backup that setup made of a file, and its path; empty if there is none.
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

// RemoveBackups removes the backup that setup made of a file, if there is one.
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

// Followed returns the path of a file with links followed: dotfiles are often links. It
// refuses a link to nothing, in whose place a file would come, also as a folder of the path.
func Followed(path string) (string, error) {
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

// At returns an error about a file with its path in front, and as PATH:LINE:COLUMN if it has a place in the file.
func At(path string, err error) error {
	var fault *jsonedit.SyntaxError
	if errors.As(err, &fault) {
		return fmt.Errorf("%s:%d:%d: %s", path, fault.Line, fault.Column, fault.Reason)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// Edited holds the outcome of an edit of the file of a client.
type Edited struct {
	Path    string // with links followed
	Backup  string // path of the text before; empty for a new file
	After   []byte
	Changed bool
	IsNew   bool // there was no file
}

// Edit replaces a file by what edit makes of it, after a backup with that ending, see
// BackupPath: one that is there stays, and an empty ending makes none. A file that is not there
// is empty. Where another program writes the file meanwhile, edit sees its text.
func Edit(path, ending string, edit func([]byte) ([]byte, error)) (done Edited, err error) {
	if path, err = Followed(path); err != nil {
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
			continue // before a backup is made
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

// Restless returns the error of a file that never stays as it was read.
func Restless(path string) error {
	return fmt.Errorf("%s changes all the time: close the programs that write it, and try again", path)
}

// ErrChanged is the error of [Replace] for a file with another text.
var ErrChanged = errors.New("it was changed meanwhile")

// Replace replaces the text of a file, or makes the file if before is empty. It refuses with [ErrChanged] if the file
// has another text than before.
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

// BackUp keeps the text of a file, with the file's mode, and returns where; empty where a backup
// is there already, which stays.
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
