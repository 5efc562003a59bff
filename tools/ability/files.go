package ability

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Folder is the folder of the workspace that holds abilities.
const Folder = ".toolfold/abilities"

const (
	// maxFile bounds a file, in bytes: the longest content in any script, and front matter.
	maxFile = 4*maxContent + maxMatter

	maxMatter = 16 << 10 // bytes of front matter
)

// fence is the line before and after front matter.
const fence = "---"

// matter declares front matter: the parameters of register except content, and fields that only
// files have.
var matter = slices.Concat(toolfold.Fields{newID, version, author}, details).Params()

func newFiles(dir string) *workspace.Files[Ability] {
	return workspace.NewFiles(dir, Folder, []string{".md"}, maxFile, func(file string, text []byte) (Ability, *workspace.BrokenFile) {
		read := parse
		if path.Base(file) == workspace.SkillFile {
			read = parseSkill
		}
		a, broken := read(workspace.Stem(file), string(text))
		a.File = file
		if broken != nil {
			broken.File = file
		}
		return a, broken
	}).WithSkills()
}

// parse parses a text of optional front matter and content. The id is name, unless the front matter
// has another.
func parse(name, text string) (Ability, *workspace.BrokenFile) {
	if !utf8.ValidString(text) {
		return Ability{}, &workspace.BrokenFile{Reason: "it is not UTF-8"}
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	front, content, broken := cut(text)
	if broken != nil {
		return Ability{}, broken
	}
	if n := utf8.RuneCountInString(content); n > maxContent {
		return Ability{}, &workspace.BrokenFile{Reason: fmt.Sprintf("the content has %d characters, more than %d", n, maxContent)}
	}
	doc, broken := workspace.ParseYAML("", []byte(front))
	if broken != nil {
		return Ability{}, broken
	}
	doc.Unquoted(version.Name)
	values := doc.Value
	if values == nil {
		values = map[string]any{}
	}
	if problems := validate.Fields(matter, values); len(problems) > 0 {
		return Ability{}, describe(doc, problems)
	}
	a := Ability{ID: name, Content: content, Source: workspace.InFile}
	for _, p := range matter {
		if _, isSet := values[p.Name]; !isSet && p.Default != nil {
			values[p.Name] = p.Default
		}
	}
	doc.Value = values
	if err := doc.Decode(&a); err != nil {
		return Ability{}, doc.AsBroken("", "%v", err)
	}
	if why := misnamed(a.ID); why != "" {
		return Ability{}, doc.AsBroken("/"+abilityID.Name, "abilityId %q %s", shorten.Quoted(a.ID), why)
	}
	if problems := checkReferences(a); len(problems) > 0 {
		return Ability{}, describe(doc, problems)
	}
	return a, nil
}

// cut splits a file into front matter and content. The front matter includes its first fence, which
// YAML reads as a document start, so that line numbers match the file.
func cut(text string) (front, content string, broken *workspace.BrokenFile) {
	isFence := func(line string) bool { return strings.TrimRight(line, " \t\n") == fence }
	end := 0
	for line := range strings.Lines(text) {
		switch {
		case end == 0 && !isFence(line):
			return "", text, nil
		case end > 0 && isFence(line):
			return text[:end], strings.TrimLeft(text[end+len(line):], "\n"), nil
		}
		if end += len(line); end > maxMatter {
			return "", "", &workspace.BrokenFile{Line: 1, Reason: fmt.Sprintf("the front matter has no closing %s in its first %d bytes", fence,
				maxMatter)}
		}
	}
	if end == 0 {
		return "", text, nil
	}
	return "", "", &workspace.BrokenFile{Line: 1, Reason: "the front matter has no closing " + fence}
}

// maxProblems bounds the listed problems of a file.
const maxProblems = 5

// describe reports problems of front matter, at the line of the first.
func describe(doc workspace.Document, problems []toolfold.Problem) *workspace.BrokenFile {
	var texts []string
	for _, p := range problems[:min(len(problems), maxProblems)] {
		texts = append(texts, p.Text())
	}
	if more := len(problems) - maxProblems; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return doc.AsBroken(problems[0].Path, "%s", strings.Join(texts, "; "))
}

// library is a set of abilities by id, with the faults of files.
type library struct {
	abilities map[string]Ability
	broken    []workspace.BrokenFile // sorted by file name

	// untrusted holds the abilities in files of an untrusted workspace, if they are excluded from
	// abilities; else nil.
	untrusted map[string]Ability
}

// inFiles returns the abilities in files, by id. If files have the same id, the first wins.
func (s *Service) inFiles(ctx context.Context) (library, error) {
	files, broken, err := s.files.Read(ctx)
	if err != nil {
		return library{}, fmt.Errorf("reading ability files: %w", err)
	}
	l := library{abilities: map[string]Ability{}, broken: broken}
	for _, f := range files {
		a := f.Value
		if other, taken := l.abilities[a.ID]; taken {
			l.broken = append(l.broken, workspace.BrokenFile{File: a.File,
				Reason: fmt.Sprintf("abilityId %s belongs to %s already", a.ID, other.File)})
			continue
		}
		l.abilities[a.ID] = a
	}
	return l, nil
}

// library returns all abilities. A registered one takes precedence over a file.
func (s *Service) library(ctx context.Context) (library, error) {
	l, err := s.inFiles(ctx)
	if err != nil {
		return library{}, err
	}
	stored, err := s.store.All(ctx)
	if err != nil {
		return library{}, fmt.Errorf("reading abilities: %w", err)
	}
	for _, a := range stored {
		if file, there := l.abilities[a.ID]; there {
			l.broken = append(l.broken, workspace.BrokenFile{
				File: file.File, Reason: "an ability of this id is registered and counts; ability.remove it to use the file",
			})
		}
		a.Source = Registered
		l.abilities[a.ID] = a
	}
	return l, nil
}

// faultOf returns the fault of the file whose name matches an id; ok is false if it has no fault.
func (l library) faultOf(id string) (fault workspace.BrokenFile, ok bool) {
	for _, b := range l.broken {
		if b.Stem() == id {
			return b, true
		}
	}
	return workspace.BrokenFile{}, false
}
