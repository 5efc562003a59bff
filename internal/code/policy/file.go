package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Folder is the folder of the workspace that holds policy files.
const Folder = ".toolfold/policies"

// maxFileSize bounds a policy file, in bytes.
const maxFileSize = 64 << 10

// Defaults of policy files.
const (
	defaultRadius = 3
	defaultTestMs = 120_000
)

// The members of a policy file. Without policyId, the id is the file's name.
var (
	ID    = toolfold.String{Name: "policyId", Doc: "Policy.", MinLen: 1, MaxLen: 64}
	gates = toolfold.List{
		Name: "gates", Doc: "The checks.", MinItems: 1,
		Of: toolfold.String{Enum: allGates},
	}

	FileRequired = toolfold.Fields{gates}.Params()
	FileOptional = toolfold.Fields{
		ID,
		toolfold.String{Name: "description", Doc: "Purpose.", MaxLen: 200},
		patterns("allowedPaths", "Files that may change. Absent = all."),
		patterns("forbiddenPaths", "Files that may not change; goes before allowedPaths."),
		toolfold.Int{Name: "changeRadiusLimit", Doc: "Most folders or packages that may change.", Min: 1,
			Max: 100}.With(toolfold.Default(defaultRadius)),
		toolfold.String{Name: "changeRadiusBy", Doc: "Unit of changeRadiusLimit.",
			Enum: []string{ByDirectory, ByPackage}}.With(toolfold.Default(ByDirectory)),
		patterns("allowedImports", "Imports that changed files may have. Absent = all."),
		patterns("forbiddenImports", "Imports that changed files may not have; goes before allowedImports."),
		toolfold.Object{Name: "contractTests", Doc: "Absent = the setting testCommand.", Optional: toolfold.Fields{
			toolfold.List{Name: "command", Doc: "Program and arguments; no shell.", MinItems: 1, MaxItems: 100, Of: toolfold.String{MaxLen: 1000}},
			toolfold.Int{Name: "timeoutMs", Doc: "Time it may take.", Min: 1000, Max: 1_800_000}.With(toolfold.Default(defaultTestMs)),
		}},
		toolfold.List{Name: "configSchemas", Doc: "JSON Schemas of configuration files.", MaxItems: 50,
			Of: toolfold.Object{Required: toolfold.Fields{
				patterns("paths", "Files that it is for."),
				toolfold.String{Name: "schema", Doc: "Path of the JSON Schema in the workspace.", MinLen: 1, MaxLen: 500},
			}}},
		patterns("sensitivePaths", "Files whose change a person should look at."),
	}.Params()
)

func patterns(name, doc string) toolfold.List {
	return toolfold.List{Name: name, Doc: doc, MaxItems: 200, Of: toolfold.String{MinLen: 1, MaxLen: 500}}
}

// settings maps members to the gate without which they have no effect.
var settings = map[string]string{
	"allowedPaths": PathViolation, "forbiddenPaths": PathViolation, "changeRadiusLimit": ChangeRadius, "changeRadiusBy": ChangeRadius,
	"allowedImports": Dependency, "forbiddenImports": Dependency, "contractTests": ContractTests, "configSchemas": ConfigValidation,
	"sensitivePaths": SensitiveChange,
}

var validID = regex.Lazy(`^[a-z][a-z0-9-]*$`)

// parseFile parses a policy file.
func parseFile(file string, text []byte) (Policy, *workspace.BrokenFile) {
	doc, broken := workspace.Parse(file, text)
	if broken != nil {
		return Policy{}, broken
	}
	if faults := engine.CheckDocument(doc, FileRequired, FileOptional); len(faults) > 0 {
		return Policy{}, faults.AsBroken(doc)
	}
	p := Policy{ID: workspace.Stem(file), By: ByDirectory, Tests: Tests{TimeoutMs: defaultTestMs}, File: file}
	if err := doc.Decode(&p); err != nil {
		return Policy{}, doc.AsBroken("", "%v", err)
	}
	if p.Has(ChangeRadius) && p.Radius == 0 {
		p.Radius = defaultRadius
	}
	if !validID().MatchString(p.ID) {
		return Policy{}, doc.AsBroken("/policyId", "policyId %q is not lower-case letters, digits and dashes, a letter first",
			shorten.Quoted(p.ID))
	}
	if slices.ContainsFunc(builtIn, func(b Policy) bool { return b.ID == p.ID }) {
		return Policy{}, doc.AsBroken("/policyId", "policyId %q belongs to a built-in policy: choose another", p.ID)
	}
	for _, f := range FileOptional {
		if gate, needs := settings[f.Name]; needs && doc.Value[f.Name] != nil && !p.Has(gate) {
			return Policy{}, doc.AsBroken("/"+f.Name, "%s does nothing: gates lacks %s", f.Name, gate)
		}
	}
	if p.Has(PathViolation) && len(p.Allowed)+len(p.Forbidden) == 0 {
		return Policy{}, doc.AsBroken("/gates", "%s needs allowedPaths or forbiddenPaths", PathViolation)
	}
	if p.Has(Dependency) && len(p.AllowedImports)+len(p.ForbiddenImports) == 0 {
		return Policy{}, doc.AsBroken("/gates", "%s needs allowedImports or forbiddenImports", Dependency)
	}
	for name, list := range map[string][]string{
		"allowedPaths": p.Allowed, "forbiddenPaths": p.Forbidden, "sensitivePaths": p.Sensitive,
		"allowedImports": p.AllowedImports, "forbiddenImports": p.ForbiddenImports,
	} {
		if broken := checkPatterns(doc, "/"+name, list); broken != nil {
			return Policy{}, broken
		}
	}
	for i, s := range p.Schemas {
		at := jsonx.Index("/configSchemas", i)
		if broken := checkPatterns(doc, at+"/paths", s.Paths); broken != nil {
			return Policy{}, broken
		}
		for _, pattern := range s.Paths {
			if strings.Contains(pattern, Target) {
				return Policy{}, doc.AsBroken(at+"/paths", "configSchemas takes no %s", Target)
			}
		}
	}
	return p, nil
}

func checkPatterns(doc workspace.Document, at string, list []string) *workspace.BrokenFile {
	for i, pattern := range list {
		if err := checkPattern(pattern); err != nil {
			return doc.AsBroken(jsonx.Index(at, i), "%v", err)
		}
	}
	return nil
}

// MaxPolicies bounds the number of policies, built-in ones included.
const MaxPolicies = 100

// Set holds the built-in policies and those in files of a workspace. It is safe for concurrent use.
type Set struct {
	workspace.Folder
	files *workspace.Files[Policy]
}

// NewSet returns the policies for a workspace.
func NewSet(folder workspace.Folder) *Set {
	return &Set{folder, workspace.NewFiles(folder.Dir, Folder, []string{".yaml", ".yml", ".json"}, maxFileSize, parseFile)}
}

// Read returns the built-in policies, then the others sorted by id, and the files that cannot be
// used. If two files have the same id, the first wins.
func (s *Set) Read(ctx context.Context) ([]Policy, []workspace.BrokenFile, error) {
	files, broken, err := s.files.Read(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("reading policies: %w", err)
	}
	var own []Policy
	from := map[string]string{}
	for _, f := range files {
		p := f.Value
		if other := from[p.ID]; other != "" {
			broken = append(broken, workspace.BrokenFile{File: p.File, Reason: fmt.Sprintf("policyId %q belongs to %s", p.ID, other)})
			continue
		}
		if len(builtIn)+len(own) == MaxPolicies {
			broken = append(broken, workspace.BrokenFile{File: p.File,
				Reason: fmt.Sprintf("there are %d policies before it, the maximum", MaxPolicies)})
			continue
		}
		from[p.ID] = p.File
		own = append(own, p)
	}
	slices.SortFunc(own, func(a, b Policy) int { return strings.Compare(a.ID, b.ID) })
	return slices.Concat(builtIn, own), broken, nil
}
