package scan

import (
	"bytes"
	"cmp"
	"errors"
	"go/format"
	"go/parser"
	gotoken "go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/tools/go/ast/astutil"
)

// applyEdits returns a text with edits made, which must not overlap. Of equal
// insertions at one place one is made.
func applyEdits(content string, edits []Edit) (string, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	edits = slices.Compact(edits)
	var b strings.Builder
	last := 0
	for _, e := range edits {
		if e.Start < last || e.End < e.Start || e.End > len(content) {
			return "", errors.New("the fix does not fit the file")
		}
		b.WriteString(content[last:e.Start])
		b.WriteString(e.Text)
		last = e.End
	}
	b.WriteString(content[last:])
	return b.String(), nil
}

// fixed returns the text of a file with the fix of a finding. Go files stay
// formatted if they were, and lose the imports that the fix leaves unused; what
// would not parse any more is an error.
func fixed(f Finding, content string) (string, error) {
	after, err := applyEdits(content, f.Edits)
	if err != nil {
		return "", err
	}
	if after == content {
		return "", errors.New("the fix changes nothing")
	}
	if path.Ext(f.File) != ".go" {
		s := newSource(f.File, after)
		if s.isScript() && !s.parse() || s.fault != "" {
			return "", errors.New("the file would not parse any more: " + s.fault)
		}
		return after, nil
	}
	files := gotoken.NewFileSet()
	before, err := parser.ParseFile(files, f.File, content, parser.ParseComments)
	if err != nil {
		return "", err
	}
	file, err := parser.ParseFile(files, f.File, after, parser.ParseComments)
	if err != nil {
		return "", errors.New("the file would not parse any more: " + err.Error())
	}
	pruned := false
	for _, spec := range slices.Clone(file.Imports) {
		name, imported := "", ""
		if imported, err = strconv.Unquote(spec.Path.Value); err != nil {
			continue
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name != "_" && name != "." && imported != "C" && astutil.UsesImport(before, imported) && !astutil.UsesImport(file, imported) {
			pruned = astutil.DeleteNamedImport(files, file, name, imported) || pruned
		}
	}
	formatted, err := format.Source([]byte(content))
	wasFormatted := err == nil && string(formatted) == content
	if pruned {
		var b bytes.Buffer
		if err := format.Node(&b, files, file); err != nil {
			return "", err
		}
		return b.String(), nil
	}
	if wasFormatted {
		if formatted, err = format.Source([]byte(after)); err != nil {
			return "", err
		}
		return string(formatted), nil
	}
	return after, nil
}

// maxDiff bounds a difference, in bytes.
const maxDiff = 200_000

// unified returns the difference as a unified diff. A longer one is cut, and
// says so.
func unified(name, before, after string) string {
	text := string(diff.Diff("a/"+name, []byte(before), "b/"+name, []byte(after)))
	if len(text) <= maxDiff {
		return text
	}
	return strings.ToValidUTF8(text[:maxDiff], "") + "\n… the difference is longer\n"
}
