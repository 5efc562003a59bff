package issuer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/system/reread"
	"github.com/toolfold/toolfold/permission"
)

// everybody is the group of every caller with a valid token.
const everybody = "*"

const maxRights = 256 << 10 // bytes of a file with rights

// group is an entry of a file with rights, as it is written.
type group struct {
	Group    string   `yaml:"group"`
	ReadOnly bool     `yaml:"readOnly"`
	Allow    []string `yaml:"allow"`
	Deny     []string `yaml:"deny"`
	Sets     []string `yaml:"sets"`
}

// granted are the rights of a group; nil rights are all.
type granted struct {
	group  string
	rights *toolfold.Rights
}

// rights are the rights of groups, from a file that is read again when it changes.
type rights struct {
	file reread.File[[]granted]
	Options
}

// openRights reads the file with the rights of groups.
func openRights(o Options) (*rights, error) {
	r := &rights{Options: o}
	r.file = reread.File[[]granted]{
		Path: o.Rights, Every: time.Second, Read: r.read,
		Failed: func(err error) { o.Log.Error("callers who log in are refused", "err", err) },
	}
	if _, err := r.file.Now(); err != nil {
		return nil, fmt.Errorf("reading the rights of groups: %w", err)
	}
	return r, nil
}

// of returns the rights of a caller in some groups: those of the first entry with one of them. The second result is
// false if there is no such entry.
func (r *rights) of(groups []string) (*toolfold.Rights, bool, error) {
	list, err := r.file.Now()
	if err != nil {
		return nil, false, fmt.Errorf("reading the rights of groups: %w", err)
	}
	for _, g := range list {
		if g.group == everybody || slices.Contains(groups, g.group) {
			return g.rights, true, nil
		}
	}
	return nil, false, nil
}

// read reads the file. It rejects one that others can change, as [permission.ReadTokens] does.
func (r *rights) read(info fs.FileInfo) ([]granted, error) {
	path := r.file.Path
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return nil, fmt.Errorf("%s is not a plain file", path)
	case mode.Perm()&0o022 != 0 && runtime.GOOS != "windows":
		return nil, fmt.Errorf("others may change %s (mode %04o); run: chmod go-w %s", path, mode.Perm(), path)
	case info.Size() > maxRights:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxRights)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	groups, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; it is a list of groups, each with readOnly, allow, deny or sets", path, err)
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("%s has no group: write a list, such as - group: support", path)
	}
	var list []granted
	for n, g := range groups {
		rules := permission.Rules{ReadOnly: g.ReadOnly, Allow: g.Allow, Deny: g.Deny}
		switch {
		case g.Group == "":
			return nil, fmt.Errorf("%s: entry %d has no group", path, n+1)
		case slices.ContainsFunc(list, func(other granted) bool { return other.group == g.Group }):
			return nil, fmt.Errorf("%s: the group %q is there twice", path, g.Group)
		case n > 0 && list[n-1].group == everybody:
			return nil, fmt.Errorf("%s: the group %q stands behind %q, which has every caller: put %q last", path, g.Group, everybody, everybody)
		case g.Allow != nil && len(g.Allow) == 0 || g.Sets != nil && len(g.Sets) == 0:
			return nil, fmt.Errorf("%s: the group %q has an empty list, which would permit all: leave it out", path, g.Group)
		}
		if r.Families != nil {
			if err := rules.Check(r.Families()); err != nil {
				return nil, fmt.Errorf("%s: group %q: %w", path, g.Group, err)
			}
		}
		rights, unknown := rules.OfCaller(g.Sets, r.Sets)
		if unknown != nil {
			return nil, fmt.Errorf("%s: the group %q is limited to %w", path, g.Group, unknown)
		}
		list = append(list, granted{g.Group, rights})
	}
	return list, nil
}

// decode reads the entries of a file. Members without a value are errors: a bare allow would permit all.
func decode(text []byte) (groups []group, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&groups); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); err == nil || !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one document: remove the line ---")
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if empty := emptyNode(&document); empty != nil {
		return nil, fmt.Errorf("line %d has a member or an entry without a value", empty.Line)
	}
	return groups, nil
}

// emptyNode returns the first null of a document; nil if it has none.
func emptyNode(node *yaml.Node) *yaml.Node {
	if node.Tag == "!!null" {
		return node
	}
	for _, part := range node.Content {
		if empty := emptyNode(part); empty != nil {
			return empty
		}
	}
	return nil
}
