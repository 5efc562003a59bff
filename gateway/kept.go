package gateway

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// kept holds the record of a server between starts. In its file it is a line of JSON, and
// behind it are the tools, byte for byte as they were sent: a start does not parse them as a whole.
type kept struct {
	Source       string            `json:"source"`                // digest of how it is started or reached
	Title        string            `json:"title,omitempty"`       // of the server
	Description  string            `json:"description,omitempty"` // of the server
	Instructions string            `json:"instructions"`          // of the server, for who asks
	Version      string            `json:"version,omitempty"`     // of the server
	Legacy       bool              `json:"legacy,omitempty"`      // as of [upstream.Server]
	Tools        []json.RawMessage `json:"tools,omitempty"`       // as they were sent last; nil = never. In files of older versions it is in the line
	Sizes        []int             `json:"sizes,omitempty"`       // in bytes, of the tools behind the line
	Sum          string            `json:"sum,omitempty"`         // digest of what is behind the line, empty for a file of an older version
	Accepted     digests           `json:"accepted"`              // digests of what the user has accepted, see [kept.pinned]

	// Differing has the digests of what is listed otherwise than accepted, so that a
	// start needs to digest none; nil in files of versions that did not keep it.
	Differing digests `json:"differing"`

	// What the server offers beside its tools, as it was sent last; nil = never, or none.
	Prompts   []json.RawMessage `json:"prompts,omitempty"`
	Resources []json.RawMessage `json:"resources,omitempty"`
	Templates []json.RawMessage `json:"templates,omitempty"`

	// Before has the definitions that were accepted of what changed since, by name.
	Before map[string]json.RawMessage `json:"before,omitempty"`

	// New says that nothing of the server is offered before its user has accepted something, see [Upstream.FirstList].
	New bool `json:"new,omitempty"`

	// Asking names the tools that have asked something of a client, which only the client's
	// own request can answer.
	Asking []string `json:"asking,omitempty"`

	// Left says what is left out of the last list, and which limit it passes.
	Left []string `json:"left,omitempty"`

	Plan fold.Plan `json:"plan"`

	// What stands in Tools, see [kept.hold].
	definitions []definition
	odd         []string // what is wrong with the list

	own    string // digest of the server's title and instructions
	former bool   // the record was read from the file of an older version
}

// digests are those of tools, by name. That of the server's title and instructions has no name.
type digests map[string]string

// UnmarshalJSON implements [json.Unmarshaler]: a start reads thousands of them.
func (d *digests) UnmarshalJSON(raw []byte) error {
	*d = nil
	if bytes.HasPrefix(raw, []byte("{")) {
		*d = digests{}
	}
	ordered.Scan(raw, func(name []byte, start, end int) { (*d)[string(name)], _ = ordered.Text(raw[start:end]) })
	return nil
}

// Bounds of what is kept of a server, in bytes: maxKept of the file, which holds the tools
// twice at most, maxTools of those, and maxOffered of each of the other lists.
const (
	bareSize   = 480 // of a tool that is listed as it came, though the user has not asked for that
	maxKept    = 64 << 20
	maxTools   = 16 << 20
	maxOffered = 8 << 20
)

// source identifies how the server is started or reached, so that the list of another
// is not taken for its. The folder that it starts in is that of the caller.
func (l *link) source() string {
	return sumOf(ordered.MustJSON([]any{l.Server.Argv, l.Server.URL, l.Server.SSE}))
}

var unsafeName = regex.Lazy(`[^A-Za-z0-9_-]+`)

// file is the name of the file that keeps what is known of the server.
func (l *link) file() string { return fileOf(l.Name, recordSuffix) }

// fileOf returns the name of a file of a server.
func fileOf(server, suffix string) string {
	sum := sha256.Sum256([]byte(server))
	return strings.Trim(shorten.To(unsafeName().ReplaceAllString(server, "_"), 40), "…") + "-" + hex.EncodeToString(sum[:4]) + suffix
}

// journalSuffix ends the names of the files with what servers say beside their protocol.
const journalSuffix = ".log"

// Files of records end in recordSuffix. Those of versions whose digests covered less end in formerSuffix; they are
// left as they are for sessions of these versions that still run.
const (
	recordSuffix = ".v2.json"
	formerSuffix = ".json"
)

// restore takes over the record of the server.
func (l *link) restore(k kept) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	l.mu.Lock()
	l.kept = k
	l.mu.Unlock()
	if k.Tools == nil { // of another command or URL
		return nil
	}
	return l.adopt(l.gateway.life, k)
}

// forget drops the record of the server, which cannot be used: it is asked again. What it lists is held back but for
// what is known to be accepted.
func (l *link) forget(k kept, err error) {
	file := filepath.Join(l.gateway.options.Dir, l.file())
	l.gateway.options.Log.Warn("the record of an upstream cannot be used: it is asked again, and its list waits for approval",
		"upstream", l.Name, "file", file, "err", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unusable = true
	if k.Accepted == nil {
		k.Accepted = digests{}
	}
	l.kept, l.trouble = kept{Accepted: k.Accepted, Before: k.acceptedTools()}, fmt.Sprintf("its cached list %s is unusable: %s", l.file(), err)
}

// read reads what is kept of the server; false for nothing.
func (l *link) read() (k kept, found bool, err error) {
	if l.gateway.options.Dir == "" {
		return k, false, nil
	}
	root, err := os.OpenRoot(l.gateway.options.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return k, false, nil
	} else if err != nil {
		return k, false, err
	}
	defer root.Close()
	file := l.file()
	if _, err := root.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		file = strings.TrimSuffix(file, recordSuffix) + formerSuffix
	}
	if info, err := root.Stat(file); err == nil { // before it is read: a change while that goes on is seen later
		l.mu.Lock()
		l.readOf = info.ModTime()
		l.mu.Unlock()
	}
	text, err := safefile.Read(root, file, maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return k, false, nil
	} else if err != nil {
		return k, false, err
	}
	if k, found = decode(text); !found {
		return kept{}, false, errors.New("the file is damaged")
	}
	if file != l.file() {
		k.former = true
		if k.Accepted == nil {
			k.Accepted = digests{}
		}
		k.hold(k.Tools)
		k.Accepted[""] = sumOf([]byte(k.Instructions)) // their title is not known
		k.own = k.Accepted[""]
		k.renew()
		return k.of(l.source()), true, nil
	}
	k.own = cmp.Or(k.Differing[""], k.Accepted[""])
	k.read(k.Tools, func(d definition) string {
		if known := cmp.Or(k.Differing[d.Name], k.Accepted[d.Name]); known != "" {
			return known
		}
		return d.identity()
	})
	return k.of(l.source()), true, nil
}

// of returns the record of the server as it is started or reached now. That of another one has no lists, so that
// the server is asked again: what is accepted counts, and the plan.
func (k kept) of(source string) kept {
	if k.Source == source {
		return k
	}
	return kept{Source: source, Accepted: k.Accepted, Before: k.acceptedTools(), Plan: k.Plan, New: k.New}
}

// encode returns the content of the file that keeps a record.
func (k kept) encode() []byte {
	tools := bytes.Join(rawBytes(k.Tools), nil)
	if k.Tools != nil {
		k.Sum = sumOf(tools)
		for _, raw := range k.Tools {
			k.Sizes = append(k.Sizes, len(raw))
		}
		k.Tools = nil
	}
	return slices.Concat(ordered.MustJSON(k), []byte("\n"), tools)
}

// decode is the reverse of encode. It reports false for a file that is not as it was written.
func decode(text []byte) (k kept, ok bool) {
	line, tools, _ := bytes.Cut(text, []byte("\n"))
	var read struct {
		kept
		Plan keptPlan `json:"plan"`
	}
	err := json.Unmarshal(line, &read)
	k = read.kept
	k.Plan = fold.Plan(read.Plan).WithoutMadeSummaries()
	if err != nil || k.Sum == "" && len(tools) > 0 || k.Sum != "" && k.Sum != sumOf(tools) {
		return kept{}, false
	}
	if k.Sum != "" {
		k.Tools = []json.RawMessage{}
	}
	for _, size := range k.Sizes {
		if size < 0 || size > len(tools) {
			return kept{}, false
		}
		k.Tools, tools = append(k.Tools, tools[:size:size]), tools[size:]
	}
	k.Sizes, k.Sum = nil, ""
	return k, true
}

// keptPlan is a plan in the file of what is kept.
type keptPlan fold.Plan

// UnmarshalJSON implements [json.Unmarshaler]: a start reads plans of thousands of tools.
func (p *keptPlan) UnmarshalJSON(raw []byte) error {
	*p = keptPlan{}
	ordered.Scan(raw, func(member []byte, start, end int) {
		if string(member) != "Families" {
			return
		}
		ordered.Items(raw[start:end], func(item []byte) {
			var f fold.Family
			ordered.Scan(item, func(member []byte, start, end int) {
				switch value := item[start:end]; string(member) {
				case "Name":
					f.Name, _ = ordered.Text(value)
				case "Summary":
					f.Summary, _ = ordered.Text(value)
				case "Range":
					f.Range, _ = ordered.Text(value)
				case "Noun":
					f.Noun, _ = ordered.Text(value)
				case "Reads":
					f.Reads = string(value) == "true"
				case "Bare":
					f.Bare = string(value) == "true"
				case "Actions":
					ordered.Items(value, func(item []byte) {
						var a fold.Action
						ordered.Scan(item, func(member []byte, start, end int) {
							switch value := item[start:end]; string(member) {
							case "Name":
								a.Name, _ = ordered.Text(value)
							case "Tool":
								a.Tool, _ = ordered.Text(value)
							}
						})
						f.Actions = append(f.Actions, a)
					})
				}
			})
			p.Families = append(p.Families, f)
		})
	})
	return nil
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// save writes the record of the server.
func (l *link) save(text []byte) error { return l.saveAs(l.file(), text) }

// saveAs writes a file about the server.
func (l *link) saveAs(name string, text []byte) error {
	dir := l.gateway.options.Dir
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return safefile.Replace(root, name, text)
}

// lists returns what the server has listed.
func (k kept) lists() [][]json.RawMessage {
	return [][]json.RawMessage{k.Tools, k.Prompts, k.Resources, k.Templates}
}

func sizeOf(list []json.RawMessage) (size int) {
	for _, entry := range list {
		size += len(entry)
	}
	return size
}

// latest returns what is kept of the server, with what another process has accepted or
// planned since.
func (l *link) latest() kept {
	l.mu.Lock()
	k, unusable := l.kept, l.unusable
	l.mu.Unlock()
	if unusable {
		return k
	}
	if others, found, err := l.read(); err == nil && found && (others.Tools != nil || k.Accepted == nil) {
		return others
	}
	return k
}

// record returns the record of the server as it is written, without what makes it too large; nil
// where it is the one that is there.
func (l *link) record(k *kept) ([]byte, error) {
	k.former, k.Differing = false, map[string]string{}
	for _, d := range k.pinned() {
		if k.Accepted[d.Name] != d.digest {
			k.Differing[d.Name] = d.digest
		}
	}
	l.mu.Lock()
	before, unkept := l.kept, l.unkept
	l.mu.Unlock()
	if unkept == "" && reflect.DeepEqual(before, *k) {
		return nil, nil
	}
	return k.within(maxKept)
}

// noteUnkept says why the record of the server could not be written; nil for one that was.
func (l *link) noteUnkept(err error) {
	if err != nil {
		l.gateway.options.Log.Warn("keeping the list of an upstream", "upstream", l.Name, "err", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unkept = ""; err != nil {
		l.unkept = err.Error()
	} else {
		l.unusable = false
	}
}
