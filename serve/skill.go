package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// The extension for skills, SEP-2640: its name and methods.
const (
	skillsExtension     = "io.modelcontextprotocol/skills"
	methodSkillsList    = "skills/list"
	methodSkillsGet     = "skills/get"
	methodDirectoryRead = "resources/directory/read"
)

// skillScheme is the prefix of the URIs of files of skills; skillFile is required in every skill.
const (
	skillScheme = "skill://"
	skillFile   = "SKILL.md"
)

// Skill is a folder of instructions for an agent, as in the Agent Skills specification. Each file
// is also a resource, such as skill://go-errors/SKILL.md.
type Skill struct {
	Name  string          // as in its front matter: a to z, 0 to 9, single hyphens within; at most 64
	Front json.RawMessage // the front matter of SKILL.md as a JSON object, with name and description

	// Files are at most 512 files, 16 MiB together. One of them is SKILL.md.
	Files []SkillFile
}

// SkillFile is a file of a skill.
type SkillFile struct {
	Path string // within the skill, with slashes
	Data []byte
}

func (s *Skill) uri(file string) string { return skillScheme + s.Name + "/" + file }

// content returns the content of a file.
func (f SkillFile) content() content.Data {
	body := content.Data{MIME: f.mime()}
	if utf8.Valid(f.Data) {
		body.Text = string(f.Data)
	} else {
		body.Blob = f.Data
	}
	return body
}

func (f SkillFile) digest() string {
	sum := sha256.Sum256(f.Data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (f SkillFile) mime() string {
	ending := path.Ext(f.Path)
	if ending == ".md" {
		return "text/markdown"
	}
	if kind, _, err := mime.ParseMediaType(mime.TypeByExtension(ending)); err == nil {
		return kind
	}
	if utf8.Valid(f.Data) {
		return "text/plain"
	}
	return "application/octet-stream"
}

// link returns the file as it appears in lists of resources.
func (s *Skill) link(f SkillFile) content.Link {
	return content.Link{URI: s.uri(f.Path), Name: path.Base(f.Path), MIME: f.mime(), Size: new(int64(len(f.Data)))}
}

// skillEntry is a skill in skills/list.
type skillEntry struct {
	URI       string          `json:"uri"`
	Front     json.RawMessage `json:"frontmatter"`
	Resources []skillResource `json:"resources"`
}

type skillResource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

func (s *Skill) entry() skillEntry {
	e := skillEntry{URI: s.uri(skillFile), Front: s.Front}
	for _, f := range s.Files {
		e.Resources = append(e.Resources, skillResource{s.uri(f.Path), f.digest(), len(f.Data)})
	}
	return e
}

// listSkills appends the result of skills/list.
func (s *Server) listSkills(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	skills, err := s.skills(ctx)
	if err != nil {
		return nil, s.handlerError(r, err)
	}
	page, next, failed := pageOf(r, skills, func(k Skill) string { return k.uri(skillFile) })
	if failed != nil {
		return nil, failed
	}
	entries := make([]skillEntry, len(page)) // only of this page: digests read whole files
	for i := range page {
		entries[i] = page[i].entry()
	}
	return r.appendFresh(out, paged("skills", entries, next)), nil
}

// getSkill appends the result of skills/get.
func (s *Server) getSkill(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	uri, skills, failed := s.skillRequest(ctx, r)
	if failed != nil {
		return nil, failed
	}
	for i := range skills {
		if skills[i].uri(skillFile) == uri {
			return r.appendFresh(out, ordered.Map{{Key: "skill", Value: skills[i].entry()}}), nil
		}
	}
	return nil, noSkill(uri, "there is no such skill: skills/list has all")
}

// skillRequest returns the URI that a request names, and the skills of its caller.
func (s *Server) skillRequest(ctx context.Context, r *request) (uri string, skills []Skill, failed *protocolError) {
	var raw json.RawMessage
	scan(r.rawParams, []memberTarget{{"uri", &raw}})
	if uri = textOfJSON(raw); uri == "" {
		return "", nil, &protocolError{code: mcp.INVALID_PARAMS, message: "uri must be a text"}
	}
	skills, err := s.skills(ctx)
	if err != nil {
		return "", nil, s.handlerError(r, err)
	}
	return uri, skills, nil
}

func noSkill(uri, why string) *protocolError {
	return &protocolError{code: mcp.INVALID_PARAMS, message: fmt.Sprintf("%.200s: %s", uri, why), data: map[string]string{"uri": uri}}
}

// readDirectory appends the result of resources/directory/read: the direct entries of a folder of a
// skill, folders first.
func (s *Server) readDirectory(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	uri, skills, failed := s.skillRequest(ctx, r)
	if failed != nil {
		return nil, failed
	}
	within := strings.TrimSuffix(uri, "/") + "/"
	var folders, files []content.Link
	for i := range skills {
		for _, f := range skills[i].Files {
			rest, below := strings.CutPrefix(skills[i].uri(f.Path), within)
			name, _, deeper := strings.Cut(rest, "/")
			folder := content.Link{URI: within + name, Name: name, MIME: "inode/directory"}
			switch {
			case !below || within == skillScheme:
			case !deeper:
				files = append(files, skills[i].link(f))
			case !slices.ContainsFunc(folders, func(l content.Link) bool { return l.URI == folder.URI }):
				folders = append(folders, folder)
			}
		}
	}
	if folders == nil && files == nil {
		return nil, noSkill(uri, "there is no such folder of a skill")
	}
	byURI := func(a, b content.Link) int { return cmp.Compare(a.URI, b.URI) }
	slices.SortFunc(folders, byURI)
	slices.SortFunc(files, byURI)
	return appendPage(out, r, "resources", append(folders, files...), func(l content.Link) string { return l.URI })
}

var errNoFile = toolfold.Errorf(toolfold.InvalidInput, "no skill has such a file")

// withSkills returns the options with the files of skills added to Resources.
func (o Options) withSkills() Options {
	if o.Skills == nil {
		return o
	}
	others, skills := o.Resources, o.Skills
	o.Resources = func(ctx context.Context) (all []Resource, err error) {
		if others != nil {
			all, err = others(ctx)
		}
		return append(all, skillResources(skills)...), err
	}
	return o
}

// skillResources returns the files of skills as resources. Lists show only each SKILL.md.
func skillResources(all func(context.Context) ([]Skill, error)) []Resource {
	file := func(ctx context.Context, at Location) (SkillFile, error) {
		skills, err := all(ctx)
		if err != nil {
			return SkillFile{}, err
		}
		for _, skill := range skills {
			for _, f := range skill.Files {
				if skill.uri(f.Path) == at.URI {
					return f, nil
				}
			}
		}
		return SkillFile{}, errNoFile
	}
	return []Resource{{
		URI: skillScheme + "{name}/{+file}", Name: "skill", Doc: "A file of a skill.",
		Read: func(ctx context.Context, at Location) (content.Data, error) {
			f, err := file(ctx, at)
			if err != nil {
				return content.Data{}, err
			}
			return f.content(), nil
		},
		Version: func(ctx context.Context, at Location) (string, error) {
			f, err := file(ctx, at)
			switch {
			case err == errNoFile:
				return "", nil
			case err != nil:
				return "", err
			}
			return f.digest(), nil
		},
		List: func(ctx context.Context) ([]content.Link, error) {
			skills, err := all(ctx)
			var links []content.Link
			for i, skill := range skills {
				var front struct{ Description string }
				_ = json.Unmarshal(skill.Front, &front) // it is an object
				for _, f := range skill.Files {
					if f.Path == skillFile {
						link := skills[i].link(f)
						link.Name, link.Doc = skill.Name, front.Description
						links = append(links, link)
					}
				}
			}
			return links, err
		},
	}}
}
