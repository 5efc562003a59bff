package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Records stores the records of servers, so that several gateways have the same lists, plans and approvals. source is a
// digest of the server's command or URL. All methods are safe for concurrent use.
type Records interface {
	// Versions calls each for every record. A version changes with its record, and is never 0.
	Versions(ctx context.Context, each func(server, source string, version int64)) error

	// Read returns a record. If there is none of this source, version is 0, and the record is the server's latest one of
	// another source; nil without any.
	Read(ctx context.Context, server, source string) (record []byte, version int64, err error)

	// Replace stores a record in place of the version over; 0 = there is none yet. It returns the new version, or 0 if
	// the stored record has another version: then it changes nothing.
	Replace(ctx context.Context, server, source string, record []byte, over int64) (version int64, err error)
}

// recordsWithin limits the time of a request to [Records].
const recordsWithin = 5 * time.Second

// errNotShared is the error of a change that Records did not take.
var errNotShared = errors.New("the store with its record does not answer")

// errOvertaken is the error of a change if another process has changed the record since it was read.
var errOvertaken = errors.New("another process has changed the record meanwhile")

// current is the record of a server, for a change, with the place where it is stored.
type current struct {
	record

	stored  record // before the change; zero if it is not stored
	shared  bool   // its place is [Options.Records], not a file
	version int64  // in Records; 0 = it is not there yet
	text    []byte // content of that version
	fault   error  // of reading Records, which is then not used
	saving  saving
}

// saving is the way in which [link.adopt] stores a record.
type saving int

const (
	saves    saving = iota // a record that cannot be stored is offered all the same
	mustSave               // a shared record that cannot be stored is not offered: it has a decision of the user, or a first list
	isSaved                // another process has stored it
)

// current returns the record of the server, including changes by other processes.
func (l *link) current(ctx context.Context) current {
	l.mu.Lock()
	known, unusable := l.record, l.unusable
	l.mu.Unlock()
	now, found, err := l.readShared(ctx)
	switch {
	case errors.Is(err, errDamaged): // it is replaced, and nothing new is accepted
		now.record, now.stored = known, record{}
		if now.Accepted == nil {
			now.Accepted = digests{}
		}
		return now
	case err != nil:
		return current{record: known, stored: known, fault: err}
	case found:
		return now
	case now.shared:
		now.record = known
		return now
	case unusable:
		return current{record: known, stored: known}
	}
	if stored, found, err := l.read(); err == nil && found && (stored.Tools != nil || known.Accepted == nil) {
		known = stored
	}
	return current{record: known, stored: known}
}

// readShared reads the record in [Options.Records]. found is false if it has none; a damaged one is [errDamaged].
func (l *link) readShared(ctx context.Context) (now current, found bool, err error) {
	records := l.gateway.options.Records
	if records == nil {
		return now, false, nil
	}
	ctx, done := context.WithTimeout(ctx, recordsWithin)
	defer done()
	now.text, now.version, err = records.Read(ctx, l.Name, l.source())
	if err != nil {
		return current{}, false, err
	}
	if now.shared = now.text != nil || !l.gateway.options.Joins; now.text == nil {
		return now, false, nil
	}
	if now.record, err = l.parse(now.text); err == nil && now.version > 0 {
		now.stored = now.record
	}
	return now, err == nil, err
}

// change reads the record, edits it, stores it and offers its accepted tools. If another process changes it meanwhile,
// change begins again. While Records does not answer, it makes no decisions and accepts no first list.
func (l *link) change(ctx context.Context, saving saving, edit func(k *record) error) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	for {
		now := l.current(ctx)
		if now.Accepted == nil && !l.gateway.options.Joins {
			saving = mustSave
		}
		if now.fault != nil && saving == mustSave {
			return fmt.Errorf("%w, so nothing is accepted: %w", errNotShared, now.fault)
		}
		now.saving = saving
		if err := edit(&now.record); err != nil {
			return err
		}
		if err := l.adopt(ctx, now); !errors.Is(err, errOvertaken) || ctx.Err() != nil {
			return err
		}
	}
}

// store stores k in place of the record before the change, if it differs.
func (l *link) store(ctx context.Context, now *current, k *record) error {
	if now.saving == isSaved {
		return nil
	}
	text, err := l.newContent(*now, k)
	switch {
	case err != nil || text == nil:
		return err
	case now.fault != nil:
		return errors.Join(errNotShared, l.save(text))
	case !now.shared:
		return l.save(text)
	}
	ctx, done := context.WithTimeout(ctx, recordsWithin)
	defer done()
	version, err := l.gateway.options.Records.Replace(ctx, l.Name, l.source(), text, now.version)
	switch {
	case err != nil:
		now.fault = err
		return fmt.Errorf("%w: %w", errNotShared, err)
	case version == 0:
		return errOvertaken
	}
	now.version, now.text = version, text
	return nil
}

// keep notes the version of the adopted record, and copies a shared record into its file.
func (l *link) keep(now current) {
	l.mu.Lock()
	fresh, first := now.version != l.version, l.version == 0
	if now.fault == nil {
		l.version, l.unstored = now.version, false
	} else {
		l.unstored = true
	}
	l.mu.Unlock()
	if !fresh || now.version == 0 || now.fault != nil || l.gateway.options.Dir == "" {
		return
	}
	if err := l.copyToFile(now.text, first); err != nil {
		l.gateway.options.Log.Warn("copying the record of an upstream from the store", "upstream", l.Name, "err", err)
	}
}

// ownSuffix ends the name of a record that was this machine's own before a shared one took its place.
const ownSuffix = ".own.json"

// copyToFile writes a shared record into its file. If the file has another record, the first copy of a process saves
// that one under another name, unless there is a file of that name.
func (l *link) copyToFile(text []byte, first bool) error {
	if root, err := os.OpenRoot(l.gateway.options.Dir); err == nil {
		defer root.Close()
		switch own, err := safefile.Read(root, l.file(), maxRecord); {
		case err == nil && bytes.Equal(own, text):
			return nil
		case err == nil && first:
			name := strings.TrimSuffix(l.file(), recordSuffix) + ownSuffix
			if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
				if err := safefile.Replace(root, name, own); err != nil {
					return err
				}
				l.gateway.options.Log.Warn("the record of an upstream in the store takes the place of this machine's, which is saved",
					"upstream", l.Name, "file", filepath.Join(l.gateway.options.Dir, name))
			}
		}
	}
	return l.save(text)
}

// recordsFault is logged while Records does not answer.
const recordsFault = "the store with the records of upstreams does not answer: their last known records are used"

// restored returns the record in [Options.Records].
func (l *link) restored() (now current, found bool) {
	now, found, err := l.readShared(l.gateway.life)
	if err != nil {
		l.gateway.options.Log.Warn("the record of an upstream in the store cannot be used: the last one of this machine is", "upstream", l.Name,
			"err", err)
		return current{}, false
	}
	now.saving = isSaved
	return now, found
}

// share puts the record into [Options.Records]. If another gateway was faster, it adopts that one, and reports true.
func (l *link) share() bool {
	l.mu.Lock()
	k, unusable := l.record, l.unusable
	l.mu.Unlock()
	if k.Accepted == nil || unusable {
		return false
	}
	if err := l.change(l.gateway.life, saves, func(*record) error { return nil }); err != nil {
		l.gateway.options.Log.Warn("sharing the record of an upstream", "upstream", l.Name, "err", err)
		return false
	}
	return !l.isAs(k)
}

// isAs reports whether the record of the link is the same as k.
func (l *link) isAs(k record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Equal(ordered.MustJSON(l.record), ordered.MustJSON(k))
}

// versions returns the versions in [Options.Records], by server and source; nil if they are not known.
func (g *Gateway) versions() (map[[2]string]int64, error) {
	if g.options.Records == nil {
		return nil, nil
	}
	ctx, done := context.WithTimeout(g.life, recordsWithin)
	defer done()
	all := map[[2]string]int64{}
	if err := g.options.Records.Versions(ctx, func(server, source string, version int64) {
		all[[2]string{server, source}] = version
	}); err != nil {
		return nil, err
	}
	return all, nil
}

// Shares reports whether the record of a server is in [Options.Records].
func (g *Gateway) Shares(server string) bool {
	l, err := g.link(server)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.version != 0
}

// watchEvery is the interval of looking for changed records.
const watchEvery = 2 * time.Second

// watch adopts approvals and plans of other processes, and switches servers off and on.
func (g *Gateway) watch() {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for failing := g.unanswered; ; {
		changed := g.switchLinks()
		versions, err := g.versions()
		if err != nil && !failing && g.life.Err() == nil {
			g.options.Log.Warn(recordsFault, "err", err)
		}
		failing = err != nil
		for _, l := range g.links {
			changed = l.catchUp(versions) || changed
		}
		if changed {
			g.tell()
			g.tellOffers()
		}
		select {
		case <-ticker.C:
		case <-g.life.Done():
			return
		}
	}
}

// catchUp adopts what other processes have stored, and reports whether that changed something. versions is nil if Records
// is not used, or does not answer.
func (l *link) catchUp(versions map[[2]string]int64) bool {
	l.mu.Lock()
	version, unstored := l.version, l.unstored
	l.mu.Unlock()
	stored, options := versions[[2]string{l.Name, l.source()}], l.gateway.options
	switch {
	case options.Records == nil, options.Joins && versions != nil && stored == 0:
		return l.changedOnDisk() && l.takeOver()
	case versions == nil:
		return false
	case unstored && l.hasTools():
		return l.takeAgain()
	case stored == 0:
		return l.share()
	}
	return stored != version && l.takeOver()
}

// takeAgain compares the last list of the server, which could not be stored, with the stored record. It reports whether
// that changed something.
func (l *link) takeAgain() bool {
	l.mu.Lock()
	k := l.record
	l.mu.Unlock()
	if err := l.take(l.gateway.life, k.answer(l.Name)); err != nil {
		l.gateway.options.Log.Warn("storing the list of an upstream", "upstream", l.Name, "err", err)
	}
	return !l.isAs(k)
}

// takeOver adopts the record that another process stored, and reports whether it differs from the
// current one. While the record is being changed here, it does nothing.
func (l *link) takeOver() bool {
	if !l.changing.TryLock() {
		return false
	}
	defer l.changing.Unlock()
	now, found, err := l.readShared(l.gateway.life)
	if now.saving = isSaved; err == nil && !found && !now.shared {
		now.record, found, err = l.read()
		now.stored, now.saving = now.record, saves
	}
	if err != nil {
		l.gateway.options.Log.Warn("reading the record of an upstream", "upstream", l.Name, "err", err)
		l.seen(now.version)
		return false
	}
	if !found || now.Tools == nil || l.isAs(now.record) { // a record of another command or URL does not apply
		l.keep(now)
		return false
	}
	if err := l.adopt(l.gateway.life, now); err != nil {
		l.gateway.options.Log.Warn("reading the record of an upstream", "upstream", l.Name, "err", err)
		return false
	}
	return true
}

// seen notes a version that cannot be used, so that it is not read again; 0 is none.
func (l *link) seen(version int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if version != 0 {
		l.version = version
	}
}
