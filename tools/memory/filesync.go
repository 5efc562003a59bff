package memory

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/notefile"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// seenFile is a file as it was read last.
type seenFile struct {
	info   fs.FileInfo
	recent bool     // a later change may leave size and time the same
	note   noteName // zero if the file could not be read
	digest string
	fault  string // why it is not a note; empty = it is one
}

// fileSync is one comparison of notes and files.
type fileSync struct {
	*Files
	s    *Service
	ctx  context.Context
	root *os.Root
	own  string
	now  time.Time

	byName  map[noteName]string   // file of each note
	copies  map[noteName][]string // other files with the note's key
	marks   map[noteName]Mark
	changes []Mark
	fresh   []Entry // new notes, to be imported
	faults  []string
	writes  int
	left    int  // notes beyond maxWrites
	took    bool // a note was stored
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// folderID identifies the folder for the notes of the own workspace.
func (run *fileSync) folderID() string {
	sum := sha256.Sum256([]byte(run.id + "\x00" + run.folder + "\x00" + run.own))
	return string(sum[:])
}

// list returns the Markdown files of the folder, except copies of conflicts. A missing folder has no
// files.
func (f *Files) list(root *os.Root) (map[string]fs.FileInfo, error) {
	for i := range strings.Count(f.folder, "/") + 1 {
		part := strings.Join(strings.Split(f.folder, "/")[:i+1], "/")
		info, err := root.Lstat(part)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err == nil && !info.IsDir() { // a link may lead to definitions; opening a pipe would wait
			err = fmt.Errorf("%s is not a folder", part)
		}
		if err != nil {
			return nil, err
		}
	}
	dir, err := root.Open(f.folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxFiles + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("it has more than %d entries", maxFiles)
	}
	there := make(map[string]fs.FileInfo, len(entries))
	for _, e := range entries {
		if temporary().MatchString(e.Name()) {
			f.removeLeft(root, e)
			continue
		}
		if path.Ext(e.Name()) != notefile.Ending || strings.HasPrefix(e.Name(), ".") || notefile.IsConflict(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil { // otherwise it was removed meanwhile
			there[e.Name()] = info
		}
	}
	return there, nil
}

// temporary matches the names of [safefile.Replace] for new texts of notes.
var temporary = regex.Lazy(`\.md\.[A-Z2-7]{26}\.tmp$`)

// removeLeft removes a temporary file that a killed process left. One of a running process is
// younger.
func (f *Files) removeLeft(root *os.Root, e fs.DirEntry) {
	if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > time.Hour {
		_ = root.Remove(path.Join(f.folder, e.Name())) // the next call tries again
	}
}

// changed returns the files that may differ from what was read last, sorted, and forgets missing
// ones.
func (f *Files) changed(there map[string]fs.FileInfo) (names []string) {
	maps.DeleteFunc(f.seen, func(name string, _ seenFile) bool { return there[name] == nil })
	for name, info := range there {
		seen, known := f.seen[name]
		if !known || seen.info == nil || seen.recent || seen.info.Size() != info.Size() || !seen.info.ModTime().Equal(info.ModTime()) ||
			seen.info.Mode() != info.Mode() || !os.SameFile(seen.info, info) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// read reads files, and returns the notes of those that differ from what was read last.
func (run *fileSync) read(names []string) (work []noteName) {
	for _, name := range names {
		before := run.seen[name]
		note, seen, err := run.load(name)
		if errors.Is(err, fs.ErrNotExist) {
			delete(run.seen, name)
			continue
		}
		switch {
		case err != nil:
			seen.fault = reasonOf(err)
		case seen.digest == before.digest && seen.note == before.note:
			seen.fault = before.fault
		default:
			seen.note = noteName{note.Namespace, note.Key}
			work = append(work, seen.note)
		}
		run.seen[name] = seen
	}
	return work
}

// load reads a file.
func (run *fileSync) load(name string) (n notefile.Note, seen seenFile, err error) {
	file := path.Join(run.folder, name)
	if seen.info, err = run.root.Lstat(file); err != nil {
		return n, seen, err
	}
	seen.recent = time.Since(seen.info.ModTime()) < changesWithin
	if !seen.info.Mode().IsRegular() {
		return n, seen, safefile.ErrNotPlain
	}
	text, err := safefile.Read(run.root, file, notefile.MaxFile)
	if _, failed := errors.AsType[*fs.PathError](err); failed {
		seen.recent = true // the next call tries again
	}
	if err == nil {
		n, err = notefile.Decode(name, text)
	}
	if err != nil {
		return n, seen, err
	}
	n.Namespace = run.s.namespaceOr(n.Namespace)
	seen.note, seen.digest = noteName{n.Namespace, n.Key}, n.Digest()
	return n, seen, nil
}

// index finds the file of each note. Of several files with the same note, the one that has its name
// counts, or the first.
func (run *fileSync) index() {
	for _, name := range sortedKeys(run.seen) {
		seen := run.seen[name]
		if seen.fault != "" {
			continue
		}
		first, taken := run.byName[seen.note]
		switch {
		case !taken:
			run.byName[seen.note] = name
			continue
		case name == notefile.Name(seen.note.namespace, seen.note.key):
			run.byName[seen.note], name, first = name, first, name
		}
		run.copies[seen.note] = append(run.copies[seen.note], name)
		run.faults = append(run.faults, fmt.Sprintf("%s/%s is not read: its key is that of %s", run.folder, name, first))
	}
}

// some compares some notes with their files.
func (run *fileSync) some(names []noteName) error {
	var keys []string
	if len(names) <= maxTogether {
		keys = []string{}
		for _, n := range names {
			keys = append(keys, n.key)
		}
		if len(keys) == 0 {
			return nil
		}
	}
	if err := run.loadMarks(keys); err != nil {
		return err
	}
	for i, n := range names {
		if slices.Contains(names[:i], n) && len(names) <= maxTogether {
			continue
		}
		if err := run.compare(n, nil); err != nil {
			return err
		}
	}
	return nil
}

// all compares all notes of the own workspace with their files.
func (run *fileSync) all() error {
	if err := run.loadMarks(nil); err != nil {
		return err
	}
	headings, err := run.s.store.Headings(run.ctx, Scope{Workspace: run.own, Now: run.now}, Page{})
	if err != nil {
		return err
	}
	names := map[noteName]*Heading{}
	for n := range run.marks {
		names[n] = nil
	}
	for n := range run.byName {
		names[n] = nil
	}
	for i, h := range headings {
		names[noteName{h.Namespace, h.Key}] = &headings[i]
	}
	for n, h := range names {
		if err := run.compare(n, h); err != nil {
			return err
		}
	}
	return nil
}

func (run *fileSync) loadMarks(keys []string) error {
	list, err := run.s.store.Marks(run.ctx, run.folderID(), keys)
	run.marks = map[noteName]Mark{}
	for _, m := range list {
		run.marks[noteName{m.Namespace, m.Key}] = m
	}
	return err
}

// stampOf identifies the state of a stored note.
func stampOf(storedAt, expiresAt time.Time, version int) string {
	return fmt.Sprintf("%d %d %d", storedAt.UnixMicro(), expiresAt.UnixMicro(), version)
}

// digestOf returns the digest of an entry, as of its file.
func digestOf(e Entry) string {
	return notefile.Note{Value: e.Value, Tags: e.Tags, ExpiresAt: e.ExpiresAt}.Digest()
}

// step is what makes note and file the same.
type step int

const (
	nothing  step = iota
	mark          // they are the same
	forget        // neither is there
	write         // the note was changed
	remove        // the note was deleted
	take          // the file was changed
	conflict      // both were changed
)

// decide compares the digests of a note, its file and their mark, last; empty = not there.
func decide(note, file, last string) step {
	switch {
	case note == file && note == "" && last != "":
		return forget
	case note == file && note == last:
		return nothing
	case note == file:
		return mark
	case file == "" && note != last:
		return write
	case file == "": // a missing file does not delete the note
		return nothing
	case file == last && note == "":
		return remove
	case file == last:
		return write
	case note == "" || note == last:
		return take
	}
	return conflict
}

// compare compares a note with its file, and makes them the same. If h is the heading of the note,
// an unchanged note is not read.
func (run *fileSync) compare(n noteName, h *Heading) error {
	if err := run.ctx.Err(); err != nil {
		return err
	}
	file, m := run.byName[n], run.marks[n]
	digest := run.seen[file].digest
	if h != nil && m.Stamp == stampOf(h.StoredAt, h.ExpiresAt, h.Version) {
		if step := decide(m.Digest, digest, m.Digest); step == nothing {
			return nil
		}
	}
	e, found, err := run.s.store.Get(run.ctx, Place{n.namespace, n.key, run.own}, run.now)
	if err != nil {
		return err
	}
	stored, stamp := "", ""
	if found {
		stored, stamp = digestOf(e), stampOf(e.StoredAt, e.ExpiresAt, e.Version)
	}
	next := decide(stored, digest, m.Digest)
	if next == conflict {
		if next, err = run.outdated(n, digest); err != nil {
			return err
		}
	}
	switch next {
	case nothing:
		if m.Stamp == stamp {
			return nil
		}
	case forget:
		stored = ""
	case write:
		if !run.write(n, file, e, stored) {
			return nil
		}
	case remove:
		if !run.remove(n, file) {
			return nil
		}
	case take:
		return run.take(n, file, stored, nil)
	case conflict:
		return run.take(n, file, stored, &e)
	}
	run.changes = append(run.changes, Mark{n.namespace, n.key, stored, stamp})
	return nil
}

// outdated decides about a note and a file that both differ from their mark. The file is outdated if the note
// had its text before: in a new worktree, or if a process was killed between a file and its mark.
func (run *fileSync) outdated(n noteName, file string) (step, error) {
	scope := Scope{Namespace: n.namespace, Key: n.key, Workspace: run.own, Now: run.now}
	list, err := run.s.store.Versions(run.ctx, scope, true, VersionPosition{}, maxVersionsRead)
	for _, v := range list {
		e, found, err := run.s.store.Version(run.ctx, Place{n.namespace, n.key, run.own}, v.Number, run.now)
		if err != nil {
			return nothing, err
		}
		if found && digestOf(e) == file {
			return write, nil
		}
	}
	return conflict, err
}

// fail reports that a file of a note cannot be written or removed.
func (run *fileSync) fail(name string, err error) {
	run.faults = append(run.faults, fmt.Sprintf("%s/%s: %s", run.folder, name, reasonOf(err)))
}

// unchanged reads a file again before it is replaced or removed. It is false if the file is not what
// was read last; then the next call compares again.
func (run *fileSync) unchanged(name string) (n notefile.Note, same bool) {
	n, seen, err := run.load(name)
	if same = err == nil && seen.digest == run.seen[name].digest && seen.note == run.seen[name].note; !same {
		run.full = time.Time{}
	}
	return n, same
}

// write writes a note into its file, or into a new one if name is empty, and reports whether it did.
func (run *fileSync) write(n noteName, name string, e Entry, digest string) (done bool) {
	if run.writes == maxWrites {
		run.left++
		return false
	}
	run.writes++
	extra := []byte(nil)
	if name == "" {
		if name = run.free(n); name == "" {
			return false
		}
	} else if old, same := run.unchanged(name); same {
		extra = old.Extra
	} else {
		return false
	}
	if !run.put(name, e, extra) {
		return false
	}
	if _, seen, err := run.load(name); err == nil && seen.digest == digest {
		run.seen[name] = seen
	}
	return true
}

// put writes an entry into a file, and reports whether it could.
func (run *fileSync) put(name string, e Entry, extra []byte) (done bool) {
	text, err := notefile.Encode(notefile.Note{Namespace: e.Namespace, Key: e.Key, Value: e.Value, Tags: e.Tags, ExpiresAt: e.ExpiresAt,
		Extra: extra})
	if err == nil && len(text) > notefile.MaxFile {
		err = fmt.Errorf("it would have more than %d bytes", notefile.MaxFile)
	}
	if err == nil {
		err = run.root.MkdirAll(run.folder, 0o755)
	}
	if err == nil {
		err = safefile.Replace(run.root, path.Join(run.folder, name), text)
	}
	if err != nil {
		run.fail(name, err)
	}
	return err == nil
}

// free returns the name for the file of a note without one. It is empty if there is a file with that
// name that is the note's, or that cannot be read and may be the note's.
func (run *fileSync) free(n noteName) string {
	for _, name := range []string{notefile.Name(n.namespace, n.key), notefile.Hashed(n.namespace, n.key)} {
		if _, err := run.root.Lstat(path.Join(run.folder, name)); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		_, seen, err := run.load(name)
		if err == nil && seen.note == n && run.seen[name].fault == "" { // it has just been created: the next call reads it
			run.full = time.Time{}
		}
		if err != nil || seen.note == n {
			return ""
		}
	}
	run.faults = append(run.faults, fmt.Sprintf("%s: the note %q has no file, because other files have its names", run.folder,
		shorten.Quoted(n.key)))
	return ""
}

// remove removes the file of a deleted note, with its copies, and reports whether it did. A file with the same
// key and another text stays, and becomes the note: it is named.
func (run *fileSync) remove(n noteName, name string) (done bool) {
	text := run.seen[name].digest
	for _, name := range append([]string{name}, run.copies[n]...) {
		if run.seen[name].digest != text {
			run.tell("%s/%s has the key of the deleted note %q: remove it too, or it becomes the note", run.folder, name,
				shorten.Quoted(n.key))
			continue
		}
		if _, same := run.unchanged(name); !same {
			return false
		}
		if err := run.root.Remove(path.Join(run.folder, name)); err != nil {
			run.fail(name, err)
			return false
		}
		delete(run.seen, name)
	}
	return true
}

// take stores the note of a file. Stored is the digest of the note that it replaces, and other that
// note if it was changed too; then a copy of it is written first.
func (run *fileSync) take(n noteName, name, stored string, other *Entry) error {
	note, same := run.unchanged(name)
	if !same {
		return nil
	}
	e, err := run.entry(note)
	if err != nil {
		seen := run.seen[name]
		seen.fault = reasonOf(err)
		run.seen[name] = seen
		return nil
	}
	if stored == "" {
		if run.fresh = append(run.fresh, e); len(run.fresh) == maxFresh {
			return run.importFresh()
		}
		return nil
	}
	beside := notefile.Conflict(name, stored)
	if other != nil && !run.put(beside, *other, nil) {
		return nil
	}
	lost := false
	old, err := run.s.store.Put(run.ctx, e, func(e, old Entry) Entry {
		if lost = digestOf(old) != stored; lost {
			e = old
			e.Words = IndexText(old)
		}
		return e
	})
	if err != nil {
		return err
	}
	if lost { // another caller has stored it meanwhile
		run.full = time.Time{}
		return nil
	}
	run.took = true
	run.changes = append(run.changes, Mark{n.namespace, n.key, digestOf(e), ""})
	if other != nil && old != nil {
		run.tell("%s/%s and the note %q were both changed: the file counts now; the note as it was is version %d, and in %s", run.folder,
			name, shorten.Quoted(n.key), old.Version, beside)
	}
	return nil
}

// entry returns the note of a file as an entry to store. It checks it as an entry to import.
func (run *fileSync) entry(n notefile.Note) (Entry, error) {
	checked := n.Value
	if string(checked) == "null" { // in an entry to import, it counts as absent
		checked = json.RawMessage("0")
	}
	members := ordered.Map{{Key: key.Name, Value: n.Key}, {Key: value.Name, Value: checked}, {Key: namespace.Name, Value: n.Namespace}}
	if len(n.Tags) > 0 {
		members.Set(tags.Name, n.Tags)
	}
	text, err := ordered.JSON(members)
	if err != nil {
		return Entry{}, err
	}
	e, refused := readEntry(text)
	if refused != nil {
		return Entry{}, errors.New(refused.Message)
	}
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(run.now) {
		return Entry{}, errors.New("it has expired")
	}
	e.Value, e.ExpiresAt, e.Workspace, e.StoredAt, e.Author = n.Value, n.ExpiresAt, run.own, run.now, fileAuthor
	e.Words = IndexText(e)
	return e, nil
}

// importFresh stores the new notes, in few transactions.
func (run *fileSync) importFresh() error {
	if len(run.fresh) > 0 {
		part := run.fresh
		stored, err := run.s.store.Import(run.ctx, part, false, run.now)
		if err != nil {
			return err
		}
		run.took = true
		if stored < len(part) { // other callers have stored some meanwhile
			run.full, part = time.Time{}, nil
		}
		for _, e := range part {
			run.changes = append(run.changes, Mark{e.Namespace, e.Key, digestOf(e), ""})
		}
	}
	run.fresh = nil
	return nil
}
