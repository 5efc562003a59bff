package upstream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/unseen"
)

// Bounds of a journal.
const (
	maxJournal = 256 << 10 // bytes of a file; the previous file is kept too
	maxEntry   = 2000      // characters of a line
	maxPending = 64 << 10  // bytes of an unfinished line; the rest of the line is dropped
)

// The kinds of lines in a journal.
const (
	outputEntry  = "stderr " // the program wrote it on standard error
	failedEntry  = "failed " // the server did not start, was not reached, or ended
	refusedEntry = "refused" // the server refused a call, or its answer was unreadable
)

// journal writes the output of a server outside of its protocol into the file [Server.Journal]: lines
// of standard error, failed starts and refused calls, each with its time and without secrets. Several
// processes may write the same file. Errors of writing are ignored, because they are not the server's
// fault. Nil writes nothing. It is safe for concurrent use.
type journal struct {
	path   string
	masked func(string) string

	mu      sync.Mutex
	pending []byte // unfinished line of standard error
	skips   bool   // the rest of that line is dropped
}

// journal returns the journal of a server, or nil if it has no journal.
func (s Server) journal() *journal {
	if s.Journal == "" {
		return nil
	}
	secrets := s.secrets()
	return &journal{path: s.Journal, masked: func(text string) string { return s.mask(text, secrets) }}
}

// mask returns a text without secrets.
func (s Server) mask(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redact.Hidden)
	}
	return redact.Text(text)
}

// Write implements [io.Writer] for standard error. It writes a line once the line has ended.
func (j *journal) Write(text []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var lines []string
	for rest := text; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		rest = after
		if !j.skips {
			j.pending = append(j.pending, line[:min(len(line), maxPending-len(j.pending))]...)
			j.skips = len(j.pending) == maxPending
		}
		if ended {
			lines = append(lines, string(j.pending))
			j.pending, j.skips = j.pending[:0], false
		}
	}
	j.add(outputEntry, lines...)
	return len(text), nil
}

// end writes the last line of standard error if it has no line end.
func (j *journal) end() {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.pending) > 0 {
		j.add(outputEntry, string(j.pending))
		j.pending, j.skips = nil, false
	}
}

// note writes an entry of another kind than standard error. Empty texts are left out.
func (j *journal) note(kind, text string) {
	if j == nil || text == "" {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(kind, text)
}

// coloured matches the colour codes of terminals.
var coloured = regex.Lazy("\x1b\\[[0-9;?]*[ -/]*[@-~]")

// add appends entries to the file in one write. The caller holds the lock.
func (j *journal) add(kind string, lines ...string) {
	var out bytes.Buffer
	for _, line := range lines {
		line = coloured().ReplaceAllString(strings.ToValidUTF8(line, "\uFFFD"), "")
		line = strings.TrimSpace(unseen.Removed(strings.ReplaceAll(j.masked(line), "\n", " ")))
		if line != "" {
			out.WriteString(time.Now().UTC().Format("2006-01-02T15:04:05.000Z ") + kind + " " + shorten.To(line, maxEntry) + "\n")
		}
	}
	if out.Len() > 0 {
		_ = appendTo(j.path, out.Bytes())
	}
}

// appendTo appends a text to a journal in one write. It rotates a full file first.
func appendTo(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxJournal {
		if err := rotate(path); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// former is the suffix of the previous file.
const former = ".1"

// rotateTime is how long rotate waits for another process that rotates.
const rotateTime = 5 * time.Second

// rotate renames a full file to the former one, unless another process has done so.
func rotate(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), rotateTime)
	defer cancel()
	unlock, err := safefile.Lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if info, err := os.Stat(path); err != nil || info.Size() <= maxJournal {
		return nil
	}
	return os.Rename(path, path+former)
}

// ReadJournal returns the last lines of a journal, the oldest first, or nil if nothing was written.
// Each begins with its time and its kind: stderr, failed or refused.
func ReadJournal(path string, lines int) ([]string, error) {
	var all []string
	for _, name := range []string{path + former, path} {
		text, err := readTail(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			all = append(all, unseen.Removed(strings.TrimSuffix(line, "\n")))
		}
	}
	return all[max(0, len(all)-lines):], nil
}

// RemoveJournal removes the files of a journal, if there are any.
func RemoveJournal(path string) error {
	for _, name := range []string{path, path + former} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readTail returns the content of a journal file. It returns only the last lines of a large file.
func readTail(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	const most = 4 * maxJournal
	skipped := max(0, info.Size()-most)
	if _, err := file.Seek(skipped, io.SeekStart); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, most))
	if skipped > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), err
}

// refusedText returns the journal text for the error of a call. It is empty if the server is not at
// fault.
func refusedText(c Call, err error) string {
	var refused *ProtocolError
	var lost *LostAnswerError
	if !errors.As(err, &refused) && !errors.As(err, &lost) {
		return ""
	}
	return strings.TrimSpace(cmp.Or(c.Method, callTool)+" "+c.Tool) + ": " + err.Error()
}
