package ability

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Limits of the Agent Skills specification.
const (
	maxSkillName        = 64
	maxSkillDescription = 1024
	maxSkillFiles       = 512
	maxSkillBytes       = 16 << 20 // of all files together
)

// Skill is an ability as a folder of files, including SKILL.md.
type Skill struct {
	Name  string
	Front json.RawMessage // front matter of SKILL.md, an object
	Files []SkillFile     // SKILL.md first
}

// SkillFile is a file of a skill.
type SkillFile struct {
	Path string // within the skill, with slashes
	Data []byte
}

var skillName = regex.Lazy(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// parseSkill parses the SKILL.md of a folder.
func parseSkill(folder, text string) (Ability, *workspace.BrokenFile) {
	if !utf8.ValidString(text) {
		return Ability{}, &workspace.BrokenFile{Reason: "it is not UTF-8"}
	}
	doc, content, broken := skillFront(text)
	if broken != nil {
		return Ability{}, broken
	}
	name, _ := doc.Value["name"].(string)
	description, _ := doc.Value["description"].(string)
	switch why := misnamed(name); {
	case name != folder:
		return Ability{}, doc.AsBroken("/name", "name must be %q, as the folder is called", folder)
	case why != "":
		return Ability{}, doc.AsBroken("/name", "name %q %s", shorten.Quoted(name), why)
	case !skillName().MatchString(name) || len(name) > maxSkillName:
		return Ability{}, doc.AsBroken("/name", "name %q has hyphens at its end or together, or more than %d characters",
			shorten.Quoted(name), maxSkillName)
	case description == "" || utf8.RuneCountInString(description) > maxSkillDescription:
		return Ability{}, doc.AsBroken("/description", "description must be a text of 1 to %d characters", maxSkillDescription)
	case utf8.RuneCountInString(content) > maxContent:
		return Ability{}, doc.AsBroken("", "the content has more than %d characters", maxContent)
	}
	return Ability{ID: name, Description: description, Content: content, Priority: 50, Enabled: true, Source: workspace.InFile}, nil
}

// skillFront splits a SKILL.md and parses its front matter.
func skillFront(text string) (doc workspace.Document, content string, broken *workspace.BrokenFile) {
	front, content, broken := cut(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"))
	if broken == nil {
		doc, broken = workspace.ParseYAML("", []byte(front))
	}
	return doc, content, broken
}

// Skills returns the enabled abilities as skills, sorted by name. It leaves out files of an
// untrusted workspace, and ids that are not valid names of skills. It also returns the folders that
// cannot be read.
func (s *Service) Skills(ctx context.Context) ([]Skill, []workspace.BrokenFile, error) {
	read := s.library
	if s.store == nil {
		read = s.inFiles
	}
	l, err := read(ctx)
	if err != nil {
		return nil, nil, err
	}
	var skills []Skill
	var broken []workspace.BrokenFile
	for _, id := range slices.Sorted(maps.Keys(l.abilities)) {
		a := l.abilities[id]
		inFile := a.Source == workspace.InFile
		switch {
		case !a.Enabled || !skillName().MatchString(id) || len(id) > maxSkillName || inFile && !s.workspace.IsTrusted():
		case inFile && path.Base(a.File) == workspace.SkillFile:
			skill, err := s.readSkill(a)
			if err != nil {
				broken = append(broken, workspace.BrokenFile{File: a.File, Reason: err.Error()})
				continue
			}
			skills = append(skills, skill)
		default:
			skills = append(skills, a.asSkill())
		}
	}
	return skills, broken, nil
}

// asSkill returns an ability without a folder as a skill.
func (a Ability) asSkill() Skill {
	about := strings.TrimSpace(cmp.Or(a.Description, a.DisplayName, "Ability "+a.ID))
	front := ordered.Map{{Key: "name", Value: a.ID}, {Key: "description", Value: shorten.To(about, maxSkillDescription-1)}}
	text := fence + "\n"
	for _, m := range front {
		text += m.Key + ": " + string(ordered.MustJSON(m.Value)) + "\n" // a JSON string is valid YAML
	}
	return Skill{
		Name: a.ID, Front: ordered.MustJSON(front),
		Files: []SkillFile{{workspace.SkillFile, []byte(text + fence + "\n\n" + a.Content)}},
	}
}

// readSkill reads the folder of a skill: its regular, non-hidden files. It reads nothing outside of
// the workspace, whatever links there are.
func (s *Service) readSkill(a Ability) (Skill, error) {
	root, err := os.OpenRoot(s.workspace.Dir)
	if err != nil {
		return Skill{}, err
	}
	defer root.Close()
	skill, folder, left := Skill{Name: a.ID}, path.Dir(a.File), int64(maxSkillBytes)
	err = fs.WalkDir(root.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != folder && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if left -= info.Size(); left < 0 || len(skill.Files) == maxSkillFiles {
			return fmt.Errorf("the folder has more than %d files or %d bytes", maxSkillFiles, maxSkillBytes)
		}
		data, err := root.ReadFile(name)
		skill.Files = append(skill.Files, SkillFile{strings.TrimPrefix(name, folder+"/"), data})
		return err
	})
	if err != nil {
		return Skill{}, err
	}
	first := slices.IndexFunc(skill.Files, func(f SkillFile) bool { return f.Path == workspace.SkillFile })
	if first < 0 {
		return Skill{}, fs.ErrNotExist
	}
	skill.Files[0], skill.Files[first] = skill.Files[first], skill.Files[0]
	slices.SortFunc(skill.Files[1:], func(a, b SkillFile) int { return cmp.Compare(a.Path, b.Path) })
	doc, _, broken := skillFront(string(skill.Files[0].Data))
	if broken != nil {
		return Skill{}, broken
	}
	skill.Front = ordered.MustJSON(doc.Value)
	return skill, nil
}
