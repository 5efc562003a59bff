package clientfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Imports is the record of what upstream import has changed and undo has not put back.
type Imports struct {
	Files     []*Imported                `json:"files"`     // the oldest first; one file may have several
	Upstreams map[string]json.RawMessage `json:"upstreams"` // that import added to the settings, with their settings

	Sets map[string]ImportedSet `json:"sets,omitempty"` // that import made or extended, by name
}

// ImportedSet is a set of upstreams that import made or extended.
type ImportedSet struct {
	Before []string `json:"before,omitempty"` // its members; nil = it was not there
	After  []string `json:"after"`
}

// Imported is what an import changed in a client's file. It is recorded before the file is written.
type Imported struct {
	Path   string `json:"path"`             // with links followed
	Host   string `json:"host,omitempty"`   // see [hosts.OfFile]; empty in the records of older versions, as all below
	Folder string `json:"folder,omitempty"` // whose list of servers in the file it is, see [hosts.Host.Within]; empty = for all folders
	Backup string `json:"backup"`           // path of the text before
	Before string `json:"before,omitempty"`
	SHA256 string `json:"sha256"` // of the text that import wrote; Before is that of the text it read

	Entries []ImportedEntry `json:"entries,omitempty"` // that were taken out, in the order in which they go back
	Own     json.RawMessage `json:"own,omitempty"`     // toolfold's entry as import or setup wrote it; nil if it is not import's
	Allowed bool            `json:"allowed,omitempty"` // import put toolfold's name into the client's list of allowed servers
}

// Client returns the host whose file it is, with the folder's list of servers if it is one; nil if the host is not known.
func (f *Imported) Client() *hosts.Host {
	h := hosts.OfFile(f.Host)
	if h == nil || f.Folder == "" {
		return h
	}
	return h.Within(f.Folder)
}

// ImportedEntry is an entry that an import took out of a client's file.
type ImportedEntry struct {
	hosts.Part
	Upstream string `json:"upstream"` // its name in the settings
}

// importRecord is the name of the record, in the folder of the user's settings.
const importRecord = "import.json"

// ReadImports reads the record in the folder of the user's settings; nil if there is nothing to undo.
func ReadImports(folder string) (*Imports, error) {
	text, err := Read(filepath.Join(folder, importRecord))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	record := &Imports{}
	if err == nil {
		err = json.Unmarshal(text, record)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the record of imports %s: %w", filepath.Join(folder, importRecord), err)
	}
	return record, nil
}

// Write writes the record, or removes it if nothing is left to undo.
func (r *Imports) Write(folder string) error {
	if len(r.Files) == 0 && len(r.Upstreams) == 0 && len(r.Sets) == 0 {
		if err := os.Remove(filepath.Join(folder, importRecord)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the record of the import: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("recording the import: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("recording the import: %w", err)
	}
	defer root.Close()
	if err := safefile.Replace(root, importRecord, append(ordered.MustJSON(r), '\n')); err != nil {
		return fmt.Errorf("recording the import: %w", err)
	}
	return nil
}

// RecordOwn records that setup has changed toolfold's entry in a file that import wrote: undo takes an entry out that
// is as it was recorded, and leaves one that the user has changed. Was is the entry before.
func RecordOwn(folder, path string, was, own json.RawMessage) error {
	record, err := ReadImports(folder)
	if record == nil || err != nil {
		return err
	}
	changed := false
	for _, f := range record.Files {
		if f.Path == path && f.Folder == "" && f.Own != nil && own != nil && string(f.Own) == string(was) {
			f.Own, changed = own, true
		}
	}
	if !changed {
		return nil
	}
	return record.Write(folder)
}

// Sum returns the SHA-256 of a text as the record has it.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
