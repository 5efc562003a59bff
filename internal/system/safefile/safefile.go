// Package safefile reads and replaces small files in folders that other people or programs can
// write to. A named pipe does not block the reader, a huge file costs nothing, and a crash leaves
// the old text or the new one.
package safefile

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// ErrNotPlain is the error for a folder, pipe, device or socket.
var ErrNotPlain = errors.New("it is not a plain file")

// Read returns the text of a regular file below root, of at most limit bytes. It never waits for
// the other end of a pipe. It checks the opened file, so the file cannot be exchanged in between.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotPlain
	}
	text := bytes.NewBuffer(make([]byte, 0, min(info.Size(), limit)+bytes.MinRead)) // large enough, so that it need not grow
	_, err = text.ReadFrom(io.LimitReader(file, limit+1))
	if err == nil && int64(text.Len()) > limit {
		return nil, fmt.Errorf("it has more than %d bytes", limit)
	}
	return text.Bytes(), err
}

// Replace writes a file below root atomically: it writes and syncs a temporary file, and renames
// it. An existing file keeps its mode; a new one gets 0600. A process killed in between leaves a
// file that ends in .tmp, which is never read.
func Replace(root *os.Root, name string, text []byte) error {
	mode := fs.FileMode(0o600)
	if info, err := root.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	temp := name + "." + rand.Text() + ".tmp"
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return err
	}
	// The file is in place. Syncing its folder only matters after a power cut, and not every file
	// system supports it.
	if folder, err := root.Open(filepath.Dir(name)); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}

// gates exclude goroutines of this process, by path, so that only one of them waits for the system.
var gates sync.Map

// Lock waits until no other goroutine and no other process holds the lock file at path, or until
// ctx is done. The lock ends with the process. The lock file is created with mode 0600 and stays.
// If it cannot be created or locked (an empty path, a read-only folder, some network file systems),
// Lock only excludes goroutines of this process.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	value, _ := gates.LoadOrStore(path, make(chan struct{}, 1))
	gate := value.(chan struct{})
	select {
	case gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if path == "" {
		return func() { <-gate }, nil
	}
	locked := make(chan *lockedfile.File, 1)
	go func() {
		file, err := lockedfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			file = nil
		}
		locked <- file
	}()
	release := func(file *lockedfile.File) {
		if file != nil {
			_ = file.Close()
		}
		<-gate
	}
	select {
	case file := <-locked:
		return func() { release(file) }, nil
	case <-ctx.Done():
		go func() { release(<-locked) }()
		return nil, ctx.Err()
	}
}
