package ability

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
)

// Folder is where a workspace keeps its abilities, one Markdown file each.
const Folder = ".toolfold/abilities"

const suffix = ".md"

// maxFile is the most bytes of a file: room for the longest content in any
// script and for its front matter.
const maxFile = 4*maxContent + maxMatter

// library is all abilities there are, by id, and the files that are none.
type library struct {
	abilities map[string]Ability
	broken    []Broken // in the order of file names
}

// folder reads the abilities of a workspace. It parses a file again only when
// its text has changed. It is safe for concurrent use.
type folder struct {
	workspace string // empty = there are no files

	mu     sync.Mutex
	parsed map[string]parsed // by file, those of the last read
}

// parsed is what a file's text came to.
type parsed struct {
	text    string
	ability Ability
	fault   *fault
}

// read returns the abilities as they are now. Whatever cannot be read is in
// broken; the rest is there.
func (f *folder) read() library {
	l := library{abilities: map[string]Ability{}}
	if f.workspace == "" {
		return l
	}
	root, err := os.OpenRoot(f.workspace)
	if err != nil {
		l.fail(Folder, 0, reasonOf(err))
		return l
	}
	defer root.Close()
	names, err := markdown(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.fail(Folder, 0, reasonOf(err))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.parsed
	f.parsed = map[string]parsed{}
	for _, name := range names {
		file := path.Join(Folder, name)
		text, err := readFile(root, file)
		if err != nil {
			l.fail(file, 0, reasonOf(err))
			continue
		}
		f.parsed[file] = before[file].renew(name, text)
		l.add(file, f.parsed[file])
	}
	return l
}

// renew returns what the text of a file comes to.
func (p parsed) renew(name, text string) parsed {
	if known := p.fault != nil || p.ability.ID != ""; known && p.text == text {
		return p
	}
	a, fault := parse(strings.TrimSuffix(name, suffix), text)
	return parsed{text, a, fault}
}

// markdown lists the names of the Markdown files, in order.
func markdown(root *os.Root) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), Folder)
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// add adds what a file came to.
func (l *library) add(file string, p parsed) {
	if p.fault != nil {
		l.fail(file, p.fault.line, p.fault.reason)
		return
	}
	a := p.ability
	if other, taken := l.abilities[a.ID]; taken {
		l.fail(file, 0, fmt.Sprintf("abilityId %s belongs to %s already", a.ID, other.Source))
		return
	}
	a.Source = file
	l.abilities[a.ID] = a
}

// readFile opens regular files only: to open a pipe is to wait for a writer.
func readFile(root *os.Root, file string) (string, error) {
	info, err := root.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	if info.Size() > maxFile {
		return "", fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxFile)
	}
	text, err := root.ReadFile(file)
	return string(text), err
}

func (l *library) fail(file string, line int, reason string) {
	l.broken = append(l.broken, Broken{File: file, Line: line, Reason: reason})
}

// faultOf returns what is wrong with the file that an id would be in by its
// name; ok is false when there is none or nothing is wrong with it.
func (l library) faultOf(id string) (fault Broken, ok bool) {
	for _, b := range l.broken {
		if b.File == path.Join(Folder, id+suffix) {
			return b, true
		}
	}
	return Broken{}, false
}

// reasonOf leaves out the paths of this machine, which system errors quote.
func reasonOf(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return err.Error()
}
