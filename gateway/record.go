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
	"github.com/toolfold/toolfold/upstream"
)

// record is the stored record of a server. Its file has a line of JSON, followed by the tools byte for
// byte as they were sent: a start does not parse the tools as a whole.
type record struct {
	Source       string            `json:"source"`                // digest of the server's command or URL
	Title        string            `json:"title,omitempty"`       // of the server
	Description  string            `json:"description,omitempty"` // of the server
	Instructions string            `json:"instructions"`          // of the server
	Version      string            `json:"version,omitempty"`     // of the server
	Legacy       bool              `json:"legacy,omitempty"`      // see [upstream.Server]
	Protocol     string            `json:"protocol,omitempty"`    // revision of MCP of the session that listed; empty = unknown
	Tools        []json.RawMessage `json:"tools,omitempty"`       // as last sent; nil = never. In the line only in files of older versions
	Sizes        []int             `json:"sizes,omitempty"`       // of the tools after the line, in bytes
	Sum          string            `json:"sum,omitempty"`         // digest of the bytes after the line; empty in files of older versions
	Accepted     digests           `json:"accepted"`              // digests that the user has accepted, see [record.pins]

	// Rejected holds digests that the user has rejected, by name. Definitions with them stay held back.
	Rejected digests `json:"rejected,omitempty"`

	// Differing holds the digests of definitions that differ from the accepted ones, so that a start
	// computes no digests. It is nil in files of versions without it.
	Differing digests `json:"differing"`

	// The other lists of the server, as last sent; nil if it never sent any.
	Prompts   []json.RawMessage `json:"prompts,omitempty"`
	Resources []json.RawMessage `json:"resources,omitempty"`
	Templates []json.RawMessage `json:"templates,omitempty"`

	// Before holds the accepted definitions of tools that have changed since, by name.
	Before map[string]json.RawMessage `json:"before,omitempty"`

	// New means that nothing is offered before the user accepts something, see [Upstream.FirstList].
	New bool `json:"new,omitempty"`

	// Asking names the tools that have asked a client something. Only the client's own request can
	// answer that.
	Asking []string `json:"asking,omitempty"`

	// LeftOut lists the parts left out of the last list, each with the limit that it exceeds.
	LeftOut []string `json:"left,omitempty"`

	Plan fold.Plan `json:"plan"`

	// Read from Tools, see [record.hold].
	definitions []definition
	odd         []string // faults of the list

	own    string // digest of the server's title and instructions
	former bool   // read from the file of an older version
}

// digests maps names of tools to digests. The empty name stands for the server's title and
// instructions.
type digests map[string]string

// UnmarshalJSON implements [json.Unmarshaler], because a start reads thousands of digests.
func (d *digests) UnmarshalJSON(raw []byte) error {
	*d = nil
	if bytes.HasPrefix(raw, []byte("{")) {
		*d = digests{}
	}
	ordered.Scan(raw, func(name []byte, start, end int) { (*d)[string(name)], _ = ordered.Text(raw[start:end]) })
	return nil
}

// Limits of the stored record in bytes: maxRecord for the file, which has the tools at most twice,
// maxTools for the tools, and maxOffered for each of the other lists.
const (
	bareSize   = 480 // of a bare tool whose description is listed though the user did not ask for single tools
	maxRecord  = 64 << 20
	maxTools   = 16 << 20
	maxOffered = 8 << 20
)

// source identifies how the server is started or reached, so that the list of another server is not
// used. The working directory does not count: it is the caller's.
func (l *link) source() string {
	return sumOf(ordered.MustJSON([]any{l.Server.Argv, l.Server.URL, l.Server.SSE}))
}

var unsafeName = regex.Lazy(`[^A-Za-z0-9_-]+`)

// file returns the name of the file with the server's record.
func (l *link) file() string { return fileOf(l.Name, recordSuffix) }

// fileOf returns the name of a file of a server.
func fileOf(server, suffix string) string {
	sum := sha256.Sum256([]byte(server))
	return strings.Trim(shorten.To(unsafeName().ReplaceAllString(server, "_"), 40), "…") + "-" + hex.EncodeToString(sum[:4]) + suffix
}

// journalSuffix ends the names of journal files.
const journalSuffix = ".log"

// Records end in recordSuffix. Those of older versions, whose digests cover less, end in formerSuffix.
// They are left unchanged for running sessions of these versions.
const (
	recordSuffix = ".v2.json"
	formerSuffix = ".json"
)

// restore uses the stored record of the server.
func (l *link) restore(now current) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	l.mu.Lock()
	l.record = now.record
	l.mu.Unlock()
	if now.Tools == nil { // the command or URL has changed
		l.keep(now)
		return nil
	}
	return l.adopt(l.gateway.life, now)
}

// forget drops an unusable record. The server is asked again, and its list is held back except for
// definitions that are known to be accepted.
func (l *link) forget(k record, err error) {
	file := filepath.Join(l.gateway.options.Dir, l.file())
	l.gateway.options.Log.Warn("the record of an upstream cannot be used: it is asked again, and its list waits for approval",
		"upstream", l.Name, "file", file, "err", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unusable = true
	if k.Accepted == nil {
		k.Accepted = digests{}
	}
	l.record = record{Accepted: k.Accepted, Before: k.acceptedTools()}
	l.trouble = fmt.Sprintf("its cached list %s is unusable: %s", l.file(), err)
}

// read reads the stored record; found is false if there is no record.
func (l *link) read() (k record, found bool, err error) {
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
	if info, err := root.Stat(file); err == nil { // before reading, so that changes during it are noticed later
		l.mu.Lock()
		l.readOf = info.ModTime()
		l.mu.Unlock()
	}
	text, err := safefile.Read(root, file, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return k, false, nil
	} else if err != nil {
		return k, false, err
	}
	if file != l.file() {
		if k, found = decode(text); !found {
			return record{}, false, errDamaged
		}
		k.former = true
		if k.Accepted == nil {
			k.Accepted = digests{}
		}
		k.hold(k.Tools)
		k.Accepted[""] = sumOf([]byte(k.Instructions)) // older versions did not store the title
		k.own = k.Accepted[""]
		k.renew()
		return k.of(l.source()), true, nil
	}
	k, err = l.parse(text)
	return k, err == nil, err
}

// errDamaged is the error of reading a damaged record.
var errDamaged = errors.New("the file is damaged")

// parse returns the record in the content of its file.
func (l *link) parse(text []byte) (record, error) {
	k, ok := decode(text)
	if !ok {
		return record{}, errDamaged
	}
	k.own = cmp.Or(k.Differing[""], k.Accepted[""])
	k.read(k.Tools, func(d definition) string {
		if known := cmp.Or(k.Differing[d.Name], k.Accepted[d.Name]); known != "" {
			return known
		}
		return d.identity()
	})
	return k.of(l.source()), nil
}

// of returns the record if it has this source. For another source it drops the lists, so that the
// server is asked again. The accepted digests and the plan stay.
func (k record) of(source string) record {
	if k.Source == source {
		return k
	}
	return record{Source: source, Accepted: k.Accepted, Rejected: k.Rejected, Before: k.acceptedTools(), Plan: k.Plan, New: k.New}
}

// encode returns the content of the record's file.
func (k record) encode() []byte {
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

// decode parses the output of encode. It reports false for a damaged file.
func decode(text []byte) (k record, ok bool) {
	line, tools, _ := bytes.Cut(text, []byte("\n"))
	var read struct {
		record
		Plan recordPlan `json:"plan"`
	}
	err := json.Unmarshal(line, &read)
	k = read.record
	k.Plan = fold.Plan(read.Plan).WithoutMadeSummaries()
	if err != nil || k.Sum == "" && len(tools) > 0 || k.Sum != "" && k.Sum != sumOf(tools) {
		return record{}, false
	}
	if k.Sum != "" {
		k.Tools = []json.RawMessage{}
	}
	for _, size := range k.Sizes {
		if size < 0 || size > len(tools) {
			return record{}, false
		}
		k.Tools, tools = append(k.Tools, tools[:size:size]), tools[size:]
	}
	k.Sizes, k.Sum = nil, ""
	return k, true
}

// recordPlan is a plan in the record's file.
type recordPlan fold.Plan

// UnmarshalJSON implements [json.Unmarshaler], because a start reads plans of thousands of tools.
func (p *recordPlan) UnmarshalJSON(raw []byte) error {
	*p = recordPlan{}
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

// answer returns the lists of the server as it last sent them, within their limits.
func (k record) answer(name string) upstream.Answer {
	return upstream.Answer{
		Name: name, Title: k.Title, Description: k.Description, Version: k.Version, Legacy: k.Legacy, Protocol: k.Protocol,
		Instructions: k.Instructions, Tools: k.Tools, Prompts: k.Prompts, Resources: k.Resources, Templates: k.Templates, LeftOut: k.LeftOut,
	}
}

// lists returns all lists of the server.
func (k record) lists() [][]json.RawMessage {
	return [][]json.RawMessage{k.Tools, k.Prompts, k.Resources, k.Templates}
}

func sizeOf(list []json.RawMessage) (size int) {
	for _, entry := range list {
		size += len(entry)
	}
	return size
}

// newContent returns the record's new file content, without parts that make it too large; nil if the stored
// record is the same.
func (l *link) newContent(now current, k *record) ([]byte, error) {
	k.former, k.Differing = false, map[string]string{}
	for _, d := range k.pins() {
		if k.Accepted[d.Name] != d.digest {
			k.Differing[d.Name] = d.digest
		}
	}
	rejected := digests{}
	for name, digest := range k.Rejected {
		if k.Accepted[name] != digest {
			rejected[name] = digest
		}
	}
	if k.Rejected = rejected; len(rejected) == 0 {
		k.Rejected = nil
	}
	l.mu.Lock()
	isStored := now.shared || l.writeFault == ""
	l.mu.Unlock()
	if isStored && reflect.DeepEqual(now.stored, *k) {
		return nil, nil
	}
	text, err := k.within(maxRecord)
	if err == nil && isStored && !now.stored.former && bytes.Equal(text, now.stored.encode()) { // nil and empty may differ
		return nil, nil
	}
	return text, err
}

// noteWriteFault records why the server's record could not be written; nil means that it was.
func (l *link) noteWriteFault(err error) {
	if err != nil {
		l.gateway.options.Log.Warn("keeping the list of an upstream", "upstream", l.Name, "err", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writeFault = ""; err != nil {
		l.writeFault = err.Error()
	} else {
		l.unusable = false
	}
}
