package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Limits of one folder of definitions.
const (
	MaxFiles   = 500
	maxEntries = 10_000   // of any kind
	maxFolder  = 16 << 20 // bytes of all its files
)

// File is a file with its parsed value.
type File[T any] struct {
	Path  string // in the workspace, with slashes
	Value T
}

// Stem returns the file's name without folder and ending.
func (f File[T]) Stem() string { return Stem(f.Path) }

// Files reads the definitions in one folder of a workspace. It only parses changed files again. It
// is safe for concurrent use.
type Files[T any] struct {
	folder  string
	endings []string
	maxSize int64
	skills  bool // also read the [SkillFile] of each subfolder
	parse   func(file string, text []byte) (T, *BrokenFile)

	workspace string
	lock      chan struct{} // a semaphore that guards known
	cache     map[string]cachedFile[T]
}

// cachedFile is the state of a file at the last read, with the result.
type cachedFile[T any] struct {
	size   int64
	inode  uint64 // zero if the system has none
	time   time.Time
	recent bool // a later change may leave the time the same
	sum    [sha256.Size]byte
	value  T
	broken *BrokenFile
}

// NewFiles returns a reader for the files of a folder, a path below the workspace, with one of the
// endings, such as ".yaml". A file may have at most maxSize bytes. parse converts a file's text to
// a value, and must not retain its arguments. An empty workspace has no files.
func NewFiles[T any](workspace, folder string, endings []string, maxSize int64,
	parse func(file string, text []byte) (T, *BrokenFile)) *Files[T] {
	return &Files[T]{
		workspace: workspace, folder: folder, endings: endings, maxSize: maxSize, parse: parse,
		lock: make(chan struct{}, 1), cache: map[string]cachedFile[T]{},
	}
}

// SkillFile is the file that makes a folder one definition.
const SkillFile = "SKILL.md"

// WithSkills also reads the [SkillFile] of each subfolder. It returns f.
func (f *Files[T]) WithSkills() *Files[T] {
	f.skills = true
	return f
}

// Read returns the current files, sorted by name, and the unusable files. A missing folder has no
// files. It reads nothing outside of the workspace, whatever links there are. The only error is the
// context's; files read until then stay cached.
func (f *Files[T]) Read(ctx context.Context) ([]File[T], []BrokenFile, error) {
	if f.workspace == "" {
		return nil, nil, nil
	}
	select {
	case f.lock <- struct{}{}:
		defer func() { <-f.lock }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	root, err := os.OpenRoot(f.workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, []BrokenFile{{File: f.folder, Reason: unreadable(err)}}, nil
	}
	defer root.Close()
	names, err := f.list(root)
	if err != nil {
		return nil, []BrokenFile{{File: f.folder, Reason: unreadable(err)}}, nil
	}
	var broken []BrokenFile
	if more := len(names) - MaxFiles; more > 0 {
		broken = append(broken, BrokenFile{
			File:   path.Join(f.folder, names[MaxFiles]),
			Reason: fmt.Sprintf("it and %d more are not read: %d files are the most", more-1, MaxFiles),
		})
		names = names[:MaxFiles]
	}
	var files []File[T]
	var size int64
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		name = path.Join(f.folder, name)
		now, err := f.read(root, name, maxFolder-size)
		if err != nil {
			delete(f.cache, name)
			broken = append(broken, BrokenFile{File: name, Reason: unreadable(err)})
			continue
		}
		f.cache[name] = now
		size += now.size
		if now.broken != nil {
			broken = append(broken, *now.broken)
			continue
		}
		files = append(files, File[T]{Path: name, Value: now.value})
	}
	for name := range f.cache {
		if _, there := slices.BinarySearch(names, strings.TrimPrefix(name, f.folder+"/")); !there {
			delete(f.cache, name)
		}
	}
	return files, broken, nil
}

// list returns the names of the files with one of the endings, sorted.
func (f *Files[T]) list(root *os.Root) ([]string, error) {
	dir, err := root.OpenFile(f.folder, openFolder, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxEntries + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("it has more than %d entries", maxEntries)
	}
	var names []string
	for _, e := range entries {
		switch hidden := strings.HasPrefix(e.Name(), "."); {
		case hidden:
		case !e.IsDir() && slices.Contains(f.endings, path.Ext(e.Name())):
			names = append(names, e.Name())
		case e.IsDir() && f.skills:
			inner := path.Join(e.Name(), SkillFile)
			if _, err := root.Lstat(path.Join(f.folder, inner)); err == nil {
				names = append(names, inner)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// granularity is the coarsest resolution of file times: two changes within it may have the same
// time.
const granularity = 2 * time.Second

// read returns the current state of a file. left is the rest of the folder's limit, in bytes.
func (f *Files[T]) read(root *os.Root, name string, left int64) (cachedFile[T], error) {
	before, ok := f.cache[name]
	info, err := root.Stat(name)
	if err == nil {
		err = f.check(info, left)
	}
	if err != nil {
		return cachedFile[T]{}, err
	}
	if ok && !before.recent && before.size == info.Size() && before.inode == inode(info) && before.time.Equal(info.ModTime()) {
		return before, nil
	}
	// The file may have been replaced before it is opened.
	file, err := root.OpenFile(name, openFile, 0)
	if err != nil {
		return cachedFile[T]{}, err
	}
	defer file.Close()
	if info, err = file.Stat(); err == nil {
		err = f.check(info, left)
	}
	if err != nil {
		return cachedFile[T]{}, err
	}
	text, err := io.ReadAll(io.LimitReader(file, f.maxSize+1))
	if err == nil && int64(len(text)) > f.maxSize {
		err = fmt.Errorf("it has more than %d bytes", f.maxSize)
	}
	if err != nil {
		return cachedFile[T]{}, err
	}
	now := cachedFile[T]{
		size: int64(len(text)), inode: inode(info), time: info.ModTime(), sum: sha256.Sum256(text),
		recent: time.Since(info.ModTime()) < granularity || int64(len(text)) != info.Size(),
	}
	if ok && before.sum == now.sum {
		now.value, now.broken = before.value, before.broken
		return now, nil
	}
	now.value, now.broken = f.parse(name, text)
	return now, nil
}

// check returns an error for a file that is not regular or too large.
func (f *Files[T]) check(info fs.FileInfo, left int64) error {
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is not a plain file")
	case info.Size() > f.maxSize:
		return fmt.Errorf("it has more than %d bytes", f.maxSize)
	case info.Size() > left:
		return fmt.Errorf("it and the files before it have more than %d bytes together", maxFolder)
	}
	return nil
}

// unreadable returns why a file cannot be read, without paths of this machine.
func unreadable(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return "it cannot be read: " + err.Error()
}
