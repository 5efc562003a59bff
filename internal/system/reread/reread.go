// Package reread reads files again when they change.
package reread

import (
	"io/fs"
	"os"
	"sync"
	"time"
)

// File is the content of a file, which is read again when the file's time or size changes, and while it cannot be read.
// It is safe for concurrent use.
type File[T any] struct {
	Path  string
	Every time.Duration // between two looks at the file
	Read  func(fs.FileInfo) (T, error)

	// Failed is called with each error that is not the one before. May be nil.
	Failed func(error)

	mu      sync.Mutex
	looked  time.Time
	info    fs.FileInfo // of the content
	content T
	err     error
}

// Now returns the content of the file. If the file cannot be read now, it returns the error, and the last content that
// could be read.
func (f *File[T]) Now() (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) < f.Every {
		return f.content, f.err
	}
	info, err := os.Stat(f.Path)
	f.looked = time.Now()
	if err == nil && f.err == nil && f.info != nil && info.ModTime().Equal(f.info.ModTime()) && info.Size() == f.info.Size() {
		return f.content, nil
	}
	var content T
	if err == nil {
		content, err = f.Read(info)
	}
	if err != nil {
		if f.Failed != nil && (f.err == nil || f.err.Error() != err.Error()) {
			f.Failed(err)
		}
		f.err = err
		return f.content, err
	}
	f.content, f.info, f.err = content, info, nil
	return content, nil
}
