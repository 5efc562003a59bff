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

// Imports records the changes of upstream import that undo has not reverted.
type Imports struct {
	Files     []*ImportRecord            `json:"files"`     // the oldest first; a file may occur several times
	Upstreams map[string]json.RawMessage `json:"upstreams"` // added by import, with their settings

	Sets map[string]ImportedSet `json:"sets,omitempty"` // made or extended by import, by name
}

// ImportedSet is a set of upstreams that import made or extended.
type ImportedSet struct {
	Before []string `json:"before,omitempty"` // former members; nil if the set did not exist
	After  []string `json:"after"`
}

// ImportRecord records an import's changes to a client's file. It is recorded before the file is written.
type ImportRecord struct {
	Path   string `json:"path"`             // with links resolved
	Host   string `json:"host,omitempty"`   // see [hosts.OfFile]; empty in records of older versions, like the fields below
	Folder string `json:"folder,omitempty"` // folder of the changed list in the file, see [hosts.Host.Within]; empty = for all folders
	Backup string `json:"backup"`           // path of the former text
	Before string `json:"before,omitempty"`
	SHA256 string `json:"sha256"` // of the text that import wrote; Before is the hash of the text that it read

	Entries []ImportedEntry `json:"entries,omitempty"` // removed entries, in the order for restoring them
	Own     json.RawMessage `json:"own,omitempty"`     // toolfold's entry as import or setup wrote it; nil if import did not write it
	Allowed bool            `json:"allowed,omitempty"` // import put toolfold's name into the client's list of allowed servers
}

// Client returns the host of the file, limited to the folder's list if there is a folder; nil if the
// host is unknown.
func (f *ImportRecord) Client() *hosts.Host {
	h := hosts.OfFile(f.Host)
	if h == nil || f.Folder == "" {
		return h
	}
	return h.Within(f.Folder)
}

// ImportedEntry is an entry that import removed from a client's file.
type ImportedEntry struct {
	hosts.Part
	Upstream string `json:"upstream"` // its name in the settings
}

// importRecord is the file name of the record, in the folder of the user's settings.
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

// RecordOwn records that setup has changed toolfold's entry in a file that import wrote, from was to
// own. Undo removes the entry only if it equals the recorded one.
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

// Sum returns the SHA-256 of a text in the form of the record.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
