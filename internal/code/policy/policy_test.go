package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/code/git/gittest"
	"github.com/toolfold/toolfold/internal/run/workspace"
)

// repo is a git repository in a temporary folder.
type repo struct{ gittest.Repo }

func newRepo(t *testing.T, files map[string]string) repo { return repo{gittest.New(t, files)} }

// check checks the uncommitted changes against the policy in a file.
func (r repo) check(trusted bool, policy string) []Result {
	r.T.Helper()
	p, broken := parseFile(Folder+"/p.yaml", []byte(policy))
	if broken != nil {
		r.T.Fatal(broken)
	}
	checker := Checker{Dir: r.Dir, Trusted: func() bool { return trusted }}
	changes, err := checker.Since(r.T.Context(), git.Uncommitted, true, nil)
	if err != nil {
		r.T.Fatal(err)
	}
	results, err := checker.Check(r.T.Context(), p, changes)
	if err != nil {
		r.T.Fatal(err)
	}
	return results
}

const wholePolicy = `
gates: [path_violation, change_radius, dependency, contract_tests, config_validation, sensitive_change]
allowedPaths: ["src/**", "conf/**", "py/**"]
forbiddenPaths: ["src/contracts/**"]
changeRadiusLimit: 3
forbiddenImports: ["./src/core/**", "left-pad", "os/exec", "secret/**"]
contractTests: {command: [sh, -c, "! test -e src/broken"], timeoutMs: 120000}
configSchemas: [{paths: ["conf/*.yaml"], schema: conf/schema.json}]
sensitivePaths: ["conf/prod.*"]
`

// startFiles pass every gate, changed or not.
var startFiles = map[string]string{
	"go.mod": "module example.com/shop\n", "src/a/a.go": "package a\n\nimport \"fmt\"\n\nvar _ = fmt.Sprint\n",
	"src/core/c.ts": "export const x = 1;\n", "src/contracts/c.ts": "export {};\n", "conf/app.yaml": "port: 80\n",
	"conf/schema.json": `{"type":"object","properties":{"port":{"type":"integer"}},"required":["port"]}`,
}

// aliases returns a document of a few hundred bytes that expands to billions of values.
func aliases() string {
	text := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for name := 'b'; name < 'k'; name++ {
		before := string(name - 1)
		text += fmt.Sprintf("%c: &%[1]c [*%s%s]\n", name, before, strings.Repeat(",*"+before, 8))
	}
	return text
}

// Each gate fails only for its own faults, and all pass a valid change.
func TestGates(t *testing.T) {
	t.Parallel()
	token := "ghp_" + "x7Kd92LmQpR4tVwZ1bNc8YhJ5sFgT3uAeXo6" // not a real credential
	for name, test := range map[string]struct {
		files    map[string]string
		gone     []string
		want     map[string]string // statuses other than PASS
		messages []string          // messages of the gates that do not pass
	}{
		"in order": {files: map[string]string{
			"src/a/a.go": "package a\n\nimport \"strings\"\n\nvar _ = strings.ToUpper\n", "conf/app.yaml": "port: 81\nbase: &b {x: 1}\nmore: *b\n",
			"src/b/b.ts": "import {y} from './y';\nexport * from \"lib\";\n", "src/a/b ü.txt": "text",
		}},
		"path": {files: map[string]string{"docs/a.md": "x", "src/contracts/new.md": "x"}, want: map[string]string{PathViolation: Fail},
			messages: []string{"docs/a.md: allowedPaths does not have it", "src/contracts/new.md: forbiddenPaths has src/contracts/**"}},
		"deleted": {gone: []string{"src/contracts/c.ts"}, want: map[string]string{PathViolation: Fail},
			messages: []string{"src/contracts/c.ts: forbiddenPaths"}},
		"radius": {files: map[string]string{"src/a/x": "", "src/b/x": "", "src/c/x": "", "src/d/x": ""},
			want:     map[string]string{ChangeRadius: Fail},
			messages: []string{"4 folders have changes, more than 3", "split"}},
		"import in Go": {files: map[string]string{"src/a/a.go": "package a\n\nimport (\n\t\"example.com/shop/src/core\"\n\t\"os/exec\"\n)\n"},
			want: map[string]string{Dependency: Fail},
			messages: []string{"line 4: forbiddenImports has ./src/core/** over example.com/shop/src/core",
				"line 5: forbiddenImports has os/exec"}},
		"import in TypeScript": {files: map[string]string{"src/b/b.ts": "import type {\n  A,\n} from \"../core/c\";\nconst l = " +
			"require('left-pad');\nconst m = import(`./m`);\n"},
			want: map[string]string{Dependency: Fail}, messages: []string{"line 1: forbiddenImports has ./src/core/** over ./src/core/c",
				"line 4: forbiddenImports has left-pad"}},
		"import in Python": {files: map[string]string{"py/b.py": "from secret import (\n    key,\n)\nimport json, secret.more as m\nfrom ... " +
			"import out\n"},
			want: map[string]string{Dependency: Fail}, messages: []string{"line 1: forbiddenImports has secret/** over secret",
				"line 4: forbiddenImports has secret/** over secret/more", "line 5: .. is outside of the workspace"}},
		"import at run time": {files: map[string]string{"src/b/b.js": "require(name);\n", "src/b/b.java": "import x;"},
			want: map[string]string{Dependency: Warn}, messages: []string{"b.js: line 1: its import is known only",
				"b.java: its imports were not read"}},
		"no imports": {files: map[string]string{"src/b/b.txt": "import x"},
			messages: []string{"no file whose imports are read (Go, JavaScript, TypeScript, Python)"}},
		"tests": {files: map[string]string{"src/broken": ""}, want: map[string]string{ContractTests: Fail}, messages: []string{"exit status 1"}},
		"json": {files: map[string]string{"conf/a.json": "{\n \"a\": 1,\n}"}, want: map[string]string{ConfigValidation: Fail},
			messages: []string{"conf/a.json: line 3"}},
		"json with a name twice": {files: map[string]string{
			"conf/a.json": `{"b": {"//": 1, "//": 2}, "a": [{"c": "c"}, {"c": {"d": 1, "d": 2}}]}`,
		}, want: map[string]string{ConfigValidation: Fail}, messages: []string{`conf/a.json: "d" stands twice`}},
		"jsonc": {files: map[string]string{"conf/tsconfig.json": "{\n \"a\": 1, // one\n}", "conf/api-extractor.json": "{} // one",
			"src/.codesandbox/tasks.json": "// one\n{}"}},
		"yaml of 1.2": {files: map[string]string{"conf/b.yml": "# one\n%YAML 1.2\n---\na: 1\n...\n%YAML 1.2\n---\na: 2\n"}},
		"yaml of aliases of aliases": {files: map[string]string{"conf/b.yml": aliases()},
			want: map[string]string{ConfigValidation: Fail}, messages: []string{"conf/b.yml: document contains excessive aliasing"}},
		"templates of a chart": {files: map[string]string{"src/a/Chart.yaml": "name: a\n",
			"src/a/templates/x/a.yaml": "{{- if .Values.a }}\na: 1\n{{- end }}\n"},
			messages: []string{"1 configuration file valid, and 1 template of a Helm chart"}},
		"templates of no chart": {files: map[string]string{"conf/templates/a.yaml": "{{- if .Values.a }}\na: 1\n{{- end }}\n"},
			want: map[string]string{ConfigValidation: Fail}, messages: []string{"conf/templates/a.yaml: line 1, column 3: did not find"}},
		"yaml": {files: map[string]string{"conf/b.yml": "a: 1\n b: 2\n"}, want: map[string]string{ConfigValidation: Fail},
			messages: []string{"conf/b.yml: line"}},
		"toml": {files: map[string]string{"conf/c.toml": "a = 1\nb = \n"}, want: map[string]string{ConfigValidation: Fail},
			messages: []string{"conf/c.toml: line 2"}},
		"schema": {files: map[string]string{"conf/app.yaml": "port: high\n"}, want: map[string]string{ConfigValidation: Fail},
			messages: []string{"conf/schema.json: port"}},
		"secret": {files: map[string]string{"src/a/k.ts": "const a = 1;\nconst token = \"" + token + "\";\n"},
			want:     map[string]string{SensitiveChange: Fail},
			messages: []string{"line 2 looks like a secret (github-pat)", "revoke"}},
		"listed": {files: map[string]string{"conf/Prod.ini": "a=1"}, want: map[string]string{SensitiveChange: Warn},
			messages: []string{"sensitivePaths has conf/prod.*: a person should look", "show the change of these files to a person"}},
		"binary": {files: map[string]string{"src/a/x.bin": "a\x00b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, startFiles)
			for name, text := range test.files {
				r.Write(name, text)
			}
			for _, name := range test.gone {
				if err := os.Remove(filepath.Join(r.Dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			results := r.check(true, wholePolicy)
			messages, worst := "", Pass
			for _, result := range results {
				want := test.want[result.Gate]
				if want == "" {
					want = Pass
				} else {
					worst = want
				}
				if result.Status != want {
					t.Errorf("%s is %s, want %s: %+v", result.Gate, result.Status, want, result)
				}
				if result.Message == "" || (result.Status == Pass) != (result.Suggestion == "") || (result.Status == Pass) != (len(result.Paths) == 0) {
					t.Errorf("%+v", result)
				}
				messages += result.Message + "\n"
				if result.Status != Pass {
					messages += result.Suggestion + "\n"
					for _, o := range result.Paths {
						messages += o.Path + ": " + o.Reason + "\n"
					}
				}
			}
			for _, text := range test.messages {
				if !strings.Contains(messages, text) {
					t.Errorf("nothing says %q:\n%s", text, messages)
				}
			}
			if strings.Contains(messages, token) {
				t.Errorf("the secret is shown: %s", messages)
			}
			if len(results) != 6 || Worst(results) != worst {
				t.Errorf("%d gates, worst %s, want %s", len(results), Worst(results), worst)
			}
		})
	}
}

// A link inside the workspace does not give a path the permissions of another.
func TestLinks(t *testing.T) {
	t.Parallel()
	r := newRepo(t, startFiles)
	for link, to := range map[string]string{"src/link": "contracts", "src/out": t.TempDir(), "src/nowhere": "../../gone"} {
		if err := os.Symlink(to, filepath.Join(r.Dir, filepath.FromSlash(link))); err != nil {
			t.Skip(err)
		}
	}
	p := Policy{Gates: []string{PathViolation, ChangeRadius}, Allowed: []string{"src/**"}, Forbidden: []string{"src/contracts/**"}, Radius: 9,
		By: ByDirectory}
	for file, want := range map[string]string{
		"src/a/new.go": "", "./src//a/../a/new.go": "", filepath.Join(r.Dir, "src", "x"): "", "src/new/deep/x": "",
		"src/link/x": "a link leads to src/contracts/x", "src/link/deep/x": "src/contracts/deep/x", "src/out/x": "outside",
		"src/nowhere/x": "outside", "../x": "outside", "/etc/passwd": "outside",
		"SRC/Contracts/x": "forbiddenPaths", "docs/x": "allowedPaths",
	} {
		refused, areas, err := Checker{Dir: r.Dir}.Admit(p, []string{file})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case want == "" && (refused != nil || len(areas) != 1):
			t.Errorf("%s: %+v, %v", file, refused, areas)
		case want != "" && (refused == nil || !strings.Contains(refused.Reason, want)):
			t.Errorf("%s: %+v, want %s", file, refused, want)
		}
	}
}

func TestPackages(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"package.json": "{}", "packages/a/package.json": "{}", "packages/a/src/deep/x.ts": "",
		"packages/b/x.ts": "", "go/a/x.go": "", "go/b/x.go": ""})
	_, areas, err := Checker{Dir: r.Dir}.Admit(Policy{Gates: []string{ChangeRadius}, By: ByPackage},
		[]string{"packages/a/src/deep/x.ts", "packages/a/test/x.ts", "packages/b/x.ts", "go/a/x.go", "go/b/x.go"})
	if want := []string{"packages/a", "packages/a", ".", "go/a", "go/b"}; err != nil || !slices.Equal(areas, want) {
		t.Errorf("areas %v, want %v; %v", areas, want, err)
	}
}

func TestBuiltIn(t *testing.T) {
	t.Parallel()
	for _, p := range builtIn {
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(raw, &fields); err != nil {
			t.Fatal(err)
		}
		for name, value := range fields {
			if value == nil || value == "" || value == 0.0 || name == "contractTests" {
				delete(fields, name)
			}
		}
		fields["policyId"] = "own-" + p.ID
		if raw, err = json.Marshal(fields); err != nil {
			t.Fatal(err)
		}
		own, broken := parseFile("own.json", raw)
		if broken != nil {
			t.Errorf("%s would be refused as a file: %v", p.ID, broken)
		}
		if filled := p.For("aws-s3"); filled.NeedsTarget() || p.NeedsTarget() != (p.ID == "provider-refactor") ||
			own.NeedsTarget() != p.NeedsTarget() {
			t.Errorf("%s: placeholder left, or unexpected", p.ID)
		}
	}
	p := builtIn[3].For("aws-s3")
	for file, ok := range map[string]bool{
		"src/providers/aws-s3/client.ts": true, "tests/aws-s3.test.ts": true, "pkg/aws-s3_test.go": true, "src/providers/gcs/client.ts": false,
		"src/aws-s3/contracts/x.ts": false, "README.md": false,
	} {
		refused, _, err := Checker{Dir: t.TempDir()}.Admit(p, []string{file})
		if err != nil || (refused == nil) != ok {
			t.Errorf("%s: %v, %v", file, refused, err)
		}
	}
}

func TestValidTarget(t *testing.T) {
	t.Parallel()
	for target, ok := range map[string]bool{"openai": true, "a/b.c_d-1": true, "@x/y": true, "ä": true, "": false, "*": false, "a/../b": false,
		"..": false, "/a": false, "a{b,c}": false, "[a]": false, "a b": false} {
		if ValidTarget(target) != ok {
			t.Errorf("ValidTarget(%q) = %v", target, !ok)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := repo{gittest.Repo{T: t, Dir: dir}}
	for name, text := range map[string]string{
		"a-good.yaml": "description: \"fine\"\ngates: [path_violation]\nforbiddenPaths: [\"{{target}}/**\"]\n",
		"bugfix.yaml": "gates: [contract_tests]\n",
		"c.yaml":      "\ngates: [change_radius]\nforbiddenImports: [x]\n",
		"d.yaml":      "gates: [path_violation]\n",
		"e.json":      "{\"gates\": [\"dependency\"],\n\"allowedImports\": [\"[\"]}",
		"f.yaml":      "gates: [none]\n",
		"g.yaml":      "gates: [path_violation]\nallowedPaths: [\"../x\"]\n",
		"h.yaml":      "policyId: a-good\ngates: [contract_tests]\n",
		"i.yaml":      "gates: [path_violation]\nallowedPaths: [\"{{other}}/x\"]\n",
		"j.yaml":      "gates: [path_violation]\nallowedPath: [x]\n",
		"K.yaml":      "gates: [contract_tests]\n",
	} {
		r.Write(Folder+"/"+name, text)
	}
	list, broken, err := NewSet(workspace.Folder{Dir: dir}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(builtIn)+1 || list[len(builtIn)].ID != "a-good" || !list[len(builtIn)].NeedsTarget() {
		t.Errorf("policies %+v", list)
	}
	want := map[string]string{
		"K.yaml": "lower-case", "bugfix.yaml": "built-in", "c.yaml": "line 3, column 1: forbiddenImports does nothing: gates lacks dependency",
		"d.yaml": "line 1, column 1: path_violation needs",
		"e.json": `line 2, column 20: "[" is not a glob`, "f.yaml": "line 1", "g.yaml": "line 2, column 16: \"../x\" is not below",
		"h.yaml": "belongs to .toolfold/policies/a-good.yaml",
		"i.yaml": "placeholder other than", "j.yaml": "line 2",
	}
	for _, b := range broken {
		name := filepath.Base(b.File)
		if !strings.Contains(b.Text(), want[name]) || want[name] == "" {
			t.Errorf("%s, want %q", b.Text(), want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("not reported: %v", want)
	}
}

// In a file with older faults, only added lines are judged.
func TestOlderFaults(t *testing.T) {
	t.Parallel()
	token := func(end string) string { return "ghp_" + "x7Kd92LmQpR4tVwZ1bNc8YhJ5sFgT3uAeX" + end } // not a real credential
	r := newRepo(t, map[string]string{
		"fixtures.txt": "token = " + token("o6") + "\n", "known.txt": "x\n", "src/a.ts": "import x from \"left-pad\";\n", ".gitleaksignore": "",
	})
	policy := "gates: [dependency, sensitive_change]\nforbiddenImports: [left-pad]\n"
	r.Write("fixtures.txt", "token = "+token("o6")+"\n# a comment\n")
	r.Write("src/a.ts", "import x from \"left-pad\";\nimport y from \"y\";\n")
	r.Write("logo.png", "\x89PNG\r\n\x1a\n\x00\x00")
	r.Write("large.bin", "\x00"+strings.Repeat("x", maxFile))
	for _, result := range r.check(false, policy) {
		if result.Status != Pass || !strings.Contains(result.Message, "1 older one on lines that did not change") {
			t.Errorf("after a comment was added: %+v", result)
		}
	}
	r.Write("fixtures.txt", "token = "+token("o6")+"\ntoken = "+token("p7")+"\n")
	r.Write("src/a.ts", "import x from \"left-pad\";\nimport {z} from \"left-pad\";\n")
	for _, result := range r.check(false, policy) {
		if result.Status != Fail || len(result.Paths) != 1 || !strings.Contains(result.Paths[0].Reason, "line 2") {
			t.Errorf("after faults were added: %+v", result)
		}
	}
	r.Git("checkout", "-q", "src/a.ts")
	r.Write(".gitleaksignore", "# known\nfixtures.txt:github-pat:2\n")
	r.Commit("baseline")
	r.Write("fixtures.txt", "token = "+token("q8")+"\ntoken = "+token("p8")+"\n")
	got := r.check(false, policy)[1]
	if got.Status != Fail || len(got.Paths) != 1 || !strings.Contains(got.Paths[0].Reason, "line 1 ") {
		t.Errorf("with a baseline: %+v", got)
	}
	if !strings.Contains(got.Message, "1 more that .gitleaksignore lists") {
		t.Errorf("nothing says what the baseline hides: %s", got.Message)
	}
}

// Every line of a named file is judged unless the commit has the file, however it is named.
func TestNamedFiles(t *testing.T) {
	t.Parallel()
	token := "ghp_" + "x7Kd92LmQpR4tVwZ1bNc8YhJ5sFgT3uAeXo6" // not a real credential
	r := newRepo(t, map[string]string{".gitignore": ".env\n", "a.txt": "x\n", "old.txt": "token = " + token + "\n", "b.txt": "x\n",
		".gitattributes": "b.txt -diff\n"})
	r.Write(".env", "token = "+token+"\n")
	r.Write("a.txt", "x\ntoken = "+token+"\n")
	r.Write("b.txt", "x\ntoken = "+token+"\n")
	gittest.Repo{T: t, Dir: r.Dir}.Git("init", "-q", "below")
	r.Write("below/c.txt", "token = "+token+"\n")
	p := Policy{Gates: []string{SensitiveChange}}
	checker := Checker{Dir: r.Dir}
	for name, want := range map[string]string{".env": Fail, "a.txt": Fail, "./a.txt": Fail, filepath.Join(r.Dir, "a.txt"): Fail, "b.txt": Fail,
		"below/c.txt": Fail, "old.txt": Pass, filepath.Join(r.Dir, "old.txt"): Pass, "../a.txt": Warn, "missing.txt": Warn} {
		changes, err := checker.Since(t.Context(), git.Uncommitted, false, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		results, err := checker.Check(t.Context(), p, changes)
		if err != nil || len(changes) != 1 || Worst(results) != want {
			t.Errorf("%s: %+v, %+v, %v, want %s", name, changes, results, err, want)
		}
	}
}

// A named file that is missing counts as gone if the last commit has it. Other missing files are
// reported as not read.
func TestNamedFilesThatAreMissing(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a.txt": "x\n", "b.txt": "x\n", "here.txt": "x\n"})
	if err := os.Remove(filepath.Join(r.Dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	r.Git("mv", "b.txt", "c.txt")
	plain := newRepo(t, map[string]string{"here.txt": "x\n"})
	if err := os.RemoveAll(filepath.Join(plain.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ dir, name, want string }{
		{r.Dir, "a.txt", Pass}, {r.Dir, "./a.txt", Pass}, {r.Dir, filepath.Join(r.Dir, "a.txt"), Pass}, {r.Dir, "b.txt", Pass},
		{r.Dir, "c.txt", Pass}, {r.Dir, "here.txt", Pass}, {r.Dir, "never.txt", Warn}, {r.Dir, "../a.txt", Warn},
		{plain.Dir, "here.txt", Pass}, {plain.Dir, "a.txt", Warn},
	} {
		checker := Checker{Dir: test.dir}
		changes, err := checker.Named(t.Context(), []string{test.name})
		if err != nil {
			t.Fatal(err)
		}
		results, err := checker.Check(t.Context(), Policy{Gates: []string{SensitiveChange}}, changes)
		if err != nil || len(changes) != 1 || Worst(results) != test.want {
			t.Errorf("%s: %+v, %+v, %v, want %s", test.name, changes, results, err, test.want)
		}
	}
}

// An uncommitted baseline does not suffice to accept a secret.
func TestBaselineThatDiffers(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a.txt": "x\n", ".gitignore": "*ignore\n"})
	r.Write("a.txt", "token = ghp_"+"x7Kd92LmQpR4tVwZ1bNc8YhJ5sFgT3uAeXo6\n") // not a real credential
	r.Write(baselineFile, "a.txt:github-pat:1\n")
	check := func() Result {
		t.Helper()
		results, err := Checker{Dir: r.Dir}.Check(t.Context(), Policy{Gates: []string{SensitiveChange}}, []Change{{Path: "a.txt"}})
		if err != nil {
			t.Fatal(err)
		}
		return results[0]
	}
	if got := check(); got.Status != Warn || len(got.Paths) != 1 || got.Paths[0].Path != baselineFile {
		t.Errorf("before it is committed: %+v", got)
	}
	r.Git("add", "-f", baselineFile)
	r.Git("commit", "-q", "-m", "baseline")
	if got := check(); got.Status != Pass || !strings.Contains(got.Message, "1 more that .gitleaksignore lists") {
		t.Errorf("once it is committed: %+v", got)
	}
}
