package memory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/notefile"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Files is a folder of Markdown files with the notes of the caller's own workspace, see [NewFiles].
//
// Each call of the family lists the folder, and reads the files whose size or time differs from
// what it saw before. Whichever of note and file differs from the [Mark] that they had in common was
// changed, and replaces the other; if both were changed, the file counts, and a copy of the note is
// written beside it. A missing file does not delete its note: the next change of the note writes it
// again. The marks are in the store, so that they are as old as its notes, also after a restore of
// the store, and do not travel with the files in version control.
//
// Processes of a machine take turns by a lock file. Files are replaced as a whole. An edit between
// the last look at a file and its replacement, a few microseconds, is lost.
type Files struct {
	workspace, folder string
	id                string
	refusal           func() string
	lock              string

	turn       chan struct{} // a semaphore that guards the following fields
	seen       map[string]seenFile
	full       time.Time // of the last comparison of all notes; zero = it is due
	faults     []string  // of files and notes, for every answer
	news       []string  // for the next answer
	isReported bool      // the refusal was reported
}

// NewFiles returns a folder, a path below a workspace. Id identifies it on all machines that share
// the store. Refusal returns why the folder is neither read nor written now, or an empty text; the
// first answer has the reason. Lock begins the path of the folder's lock file; an empty path excludes
// only other calls of this process.
func NewFiles(workspace, folder, id, lock string, refusal func() string) *Files {
	if lock != "" {
		sum := sha256.Sum256([]byte(id + "\x00" + folder))
		lock = fmt.Sprintf("%s-%x.lock", lock, sum[:8])
	}
	return &Files{workspace: workspace, folder: filepath.ToSlash(filepath.Clean(folder)), id: id, lock: lock, refusal: refusal,
		turn: make(chan struct{}, 1), seen: map[string]seenFile{}}
}

// Mark is what a note and its file in a folder had in common when they were last the same.
type Mark struct {
	Namespace, Key string
	Digest         string // empty = no mark
	Stamp          string // [stampOf] the note with this digest; may be empty
}

// Marks stores the marks of folders of the own workspace. A folder is identified by any 32 bytes.
type Marks interface {
	// Marks returns the marks of a folder, of these keys in any namespace or, if keys is nil, of all.
	Marks(ctx context.Context, folder string, keys []string) ([]Mark, error)

	// PutMarks stores marks, and removes those without a digest.
	PutMarks(ctx context.Context, folder string, marks []Mark) error
}

const (
	lockPatience  = 10 * time.Second // for another process in its turn
	fullPause     = time.Minute      // between comparisons of all notes, for changes by other machines and expiry
	maxWrites     = 200              // files in one call
	maxFiles      = 40_000           // entries of the folder
	maxNews       = 4                // in an answer
	fileAuthor    = "file"           // author of notes from files
	maxTogether   = 100              // keys whose marks are read by key
	maxFresh      = 100              // new notes in a transaction, up to 26 MB
	changesWithin = 2 * time.Second  // two changes of a file may leave its time the same
)

// noteName identifies a note of the own workspace.
type noteName struct{ namespace, key string }

// withFiles returns an action that takes edits of files in before it runs, and writes the files of
// notes that it changed.
func withFiles[In, Out any](do func(*Service, context.Context, In) (Out, error)) func(*Service, context.Context, In) (Out, error) {
	return func(s *Service, ctx context.Context, in In) (Out, error) {
		if s.Files == nil {
			return do(s, ctx, in)
		}
		s.syncFiles(ctx, nil, false)
		out, err := do(s, ctx, in)
		names, all := s.touched(in)
		if len(names) > 0 || all {
			s.syncFiles(context.WithoutCancel(ctx), names, all)
		}
		if err == nil {
			s.Files.warn(ctx)
		}
		return out, err
	}
}

// touched returns the notes that an action may have changed; all means any.
func (s *Service) touched(in any) (names []noteName, all bool) {
	namespace, key := "", ""
	switch in := in.(type) {
	case StoreIn:
		namespace, key = in.Namespace, in.Key
	case RestoreIn:
		namespace, key = in.Namespace, in.Key
	case DeleteIn:
		if in.DryRun {
			return nil, false
		}
		namespace, key = in.Namespace, in.Key
	case BulkDeleteIn:
		return nil, !in.DryRun
	case ClearIn, ImportIn:
		return nil, true
	default:
		return nil, false
	}
	return []noteName{{s.namespaceOr(namespace), key}}, false
}

func (s *Service) namespaceOr(namespace string) string {
	for _, n := range []string{namespace, s.Namespace} {
		if n != "" {
			return n
		}
	}
	return defaultNamespace
}

// warn adds the news and the faults to the warnings of a call.
func (f *Files) warn(ctx context.Context) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	news := slices.Concat(f.news, f.faults)
	f.news = nil
	if more := len(news) - maxNews; more > 0 {
		news = append(news[:maxNews:maxNews], fmt.Sprintf("%s has %d more faults", f.folder, more))
	}
	for _, text := range news {
		callctx.Warn(ctx, text)
	}
}

// tell keeps a text for the next answer.
func (f *Files) tell(format string, args ...any) {
	if len(f.news) < 2*maxNews {
		f.news = append(f.news, fmt.Sprintf(format, args...))
	}
}

// syncFiles takes changes of files in, and writes the files of names or, if all is set, of all
// changed notes. Faults do not stop the call.
func (s *Service) syncFiles(ctx context.Context, names []noteName, all bool) {
	f := s.Files
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return
	}
	if why := f.refusal(); why != "" {
		if !f.isReported {
			f.tell("notesFolder has no effect: %s", why)
		}
		f.isReported, f.faults = true, nil
		return
	}
	if err := s.syncFolder(ctx, names, all); err != nil {
		f.full, f.faults = time.Time{}, []string{fmt.Sprintf("%s: %s", f.folder, reasonOf(err))}
	}
}

// syncFolder is syncFiles in its turn.
func (s *Service) syncFolder(ctx context.Context, names []noteName, all bool) error {
	f := s.Files
	root, err := os.OpenRoot(f.workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	now := s.now()
	all = all || f.full.IsZero() || now.Sub(f.full) >= fullPause
	there, err := f.list(root)
	if err != nil {
		return err
	}
	if len(f.changed(there)) == 0 && len(names) == 0 && !all {
		return nil
	}
	if f.lock != "" {
		_ = os.MkdirAll(filepath.Dir(f.lock), 0o700) // without it, only calls of this process take turns
	}
	limited, stop := context.WithTimeout(ctx, lockPatience)
	unlock, err := safefile.Lock(limited, f.lock)
	stop()
	if err != nil && ctx.Err() == nil {
		return errors.New("another process is busy with its notes; edits of its files count at a later call")
	} else if err != nil {
		return err
	}
	defer unlock()
	if there, err = f.list(root); err != nil { // another process may have written files meanwhile
		return err
	}
	run := &fileSync{Files: f, s: s, ctx: ctx, root: root, own: s.own(ctx), now: now, byName: map[noteName]string{},
		copies: map[noteName][]string{}}
	if all {
		f.full, names = now, nil
	}
	work := append(run.read(f.changed(there)), names...)
	run.index()
	if all {
		err = run.all()
	} else {
		err = run.some(work)
	}
	return errors.Join(err, run.finish()) // also after an error: files were written
}

// finish stores new notes and marks, and sets the faults. It also runs after the call was cancelled: files
// that were written without a mark would look like edits.
func (run *fileSync) finish() error {
	f := run.Files
	run.ctx = context.WithoutCancel(run.ctx)
	if err := run.importFresh(); err != nil {
		return err
	}
	if len(run.changes) > 0 {
		if err := run.s.store.PutMarks(run.ctx, run.folderID(), run.changes); err != nil {
			return err
		}
	}
	f.faults = run.faults
	for _, name := range sortedKeys(f.seen) {
		if fault := f.seen[name].fault; fault != "" {
			f.faults = append(f.faults, fmt.Sprintf("%s/%s is not a note: %s", f.folder, name, fault))
		}
	}
	if run.left > 0 {
		f.full = time.Time{}
		f.faults = append(f.faults, english.Count(run.left, "note is not in its file yet: the next call writes it",
			"notes are not in their files yet: the next calls write them"))
	}
	if run.took {
		run.s.complete.Store(false)
		run.s.makeVectors()
	}
	return nil
}

// reasonOf returns a failure without paths of this machine.
func reasonOf(err error) string {
	return shorten.To(strings.ReplaceAll(notefile.Reason(err), "\n", " "), 200)
}
