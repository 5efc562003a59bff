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

// applyEdits returns a text with edits applied. Edits must not overlap; of equal insertions at one
// place only one is applied.
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

// overlap reports whether two lists of edits conflict: they change the same bytes, or insert at the
// same place. Equal insertions of whole lines, such as an import, do not conflict.
func overlap(edits, others []Edit) bool {
	for _, a := range edits {
		for _, b := range others {
			both := a.Start < b.End && b.Start < a.End || a.Start == b.Start && (a.Start == a.End) == (b.Start == b.End)
			if both && !(a == b && a.Start == a.End && strings.Contains(a.Text, "\n")) {
				return true
			}
		}
	}
	return false
}

// fixText returns the text of a file with edits applied. Go files stay formatted if they were, and
// lose imports that the edits leave unused. It is an error if the file no longer parses.
func fixText(name, content string, edits []Edit) (string, error) {
	after, err := applyEdits(content, edits)
	if err != nil {
		return "", err
	}
	if after == content {
		return "", errors.New("the fix changes nothing")
	}
	if !Knows(name) {
		return after, nil
	}
	if path.Ext(name) != ".go" {
		if s := newSource(name, after); s.fault != "" && newSource(name, content).fault == "" {
			return "", errors.New("the file would not parse any more: " + s.fault)
		}
		return after, nil
	}
	files := gotoken.NewFileSet()
	before, err := parser.ParseFile(files, name, content, parser.ParseComments)
	if err != nil {
		return "", err
	}
	file, err := parser.ParseFile(files, name, after, parser.ParseComments)
	if err != nil {
		return "", errors.New("the file would not parse any more: " + err.Error())
	}
	pruned := false
	for _, spec := range slices.Clone(file.Imports) {
		alias, imported := "", ""
		if imported, err = strconv.Unquote(spec.Path.Value); err != nil {
			continue
		}
		if spec.Name != nil {
			alias = spec.Name.Name
		}
		if alias != "_" && alias != "." && imported != "C" && astutil.UsesImport(before, imported) && !astutil.UsesImport(file, imported) {
			pruned = astutil.DeleteNamedImport(files, file, alias, imported) || pruned
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

// maxDiff bounds a diff, in bytes.
const maxDiff = 200_000

// unified returns the unified diff of two texts.
func unified(name, before, after string) string {
	return string(diff.Diff("a/"+name, []byte(before), "b/"+name, []byte(after)))
}

// cutDiff truncates a diff that is too long, and appends a note.
func cutDiff(text string) string {
	if len(text) <= maxDiff {
		return text
	}
	return strings.ToValidUTF8(text[:maxDiff], "") + "\n… the difference is longer\n"
}
