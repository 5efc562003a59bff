package config

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// writing lets one goroutine of the process change a settings file at a time,
// whichever Files it goes through.
var writing sync.Mutex

// update replaces the text of a scope's file with what edit makes of it, and
// creates file and folder when they are missing. The new text is written
// beside the file, synced and renamed over it: a reader or a crash sees the
// old text or the new one, never half of one.
//
// Updates do not lose each other: in this process by a mutex, between
// processes by a lock on the folder. That lock binds toolfold only, not
// editors, and is missing on Windows and on file systems that cannot lock a
// folder, such as NFS; there the later of two simultaneous writers wins.
func (f Files) update(scope string, edit func(text []byte) ([]byte, error)) error {
	writing.Lock()
	defer writing.Unlock()
	root, name, err := f.open(scope)
	if err != nil {
		return f.fail(scope, 0, err)
	}
	defer root.Close()
	folder, err := root.Open(filepath.Dir(name))
	if err != nil {
		return f.fail(scope, 0, err)
	}
	defer folder.Close() // also gives the lock back
	lock(folder)

	old, err := root.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.fail(scope, 0, err)
	}
	text, err := edit(old)
	if err != nil {
		return err
	}
	if err := replace(root, name, text); err != nil {
		return f.fail(scope, 0, err)
	}
	// The file is in place; syncing its name only matters to a power cut, and
	// not every file system can.
	_ = folder.Sync()
	return nil
}

// open makes sure that the folder of a scope's file exists. Settings can name
// a store with its password, so what is created is the user's own.
func (f Files) open(scope string) (root *os.Root, name string, err error) {
	dir, name := f.place(scope)
	if scope == Global {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, "", err
		}
	}
	root, err = os.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, "", errors.Join(err, root.Close())
	}
	return root, name, nil
}

// replace writes a file atomically and keeps its mode. A process killed at the
// wrong moment leaves a file that ends in .tmp, which nothing reads.
func replace(root *os.Root, name string, text []byte) error {
	mode := fs.FileMode(0o600)
	if info, err := root.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	temp := name + "." + rand.Text() + ".tmp"
	if err := writeSynced(root, temp, text, mode); err != nil {
		_ = root.Remove(temp)
		return err
	}
	if err := root.Rename(temp, name); err != nil {
		_ = root.Remove(temp)
		return err
	}
	return nil
}

func writeSynced(root *os.Root, name string, text []byte, mode fs.FileMode) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
}

// pretty lays JSON out for people, as it is kept in the file.
func pretty(text json.RawMessage) ([]byte, error) {
	var buf bytes.Buffer
	if err := json.Indent(&buf, text, "", "  "); err != nil {
		return nil, fmt.Errorf("laying out settings: %w", err)
	}
	buf.WriteByte('\n')
	return buf.Bytes(), nil
}
