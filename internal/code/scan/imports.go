package scan

import (
	"go/parser"
	gotoken "go/token"
	"path"
	"strconv"
	"strings"
)

// Import is an import in a source file.
type Import struct {
	// Names lists the possible names, with slashes: as written, and for relative imports the path
	// from the workspace with "./" in front. It is empty if the name is computed at run time.
	Names []string
	Line  int
}

// Imports returns the imports of a source file in the workspace. Fault is the reason if not all of
// them could be read. Known is false for files of other languages.
func Imports(name, content string) (imports []Import, fault string, known bool) {
	l, known := languageOf(name)
	if !known {
		return nil, "", false
	}
	if fault = unusable(content); fault != "" {
		return nil, fault, true
	}
	if l == golang {
		imports, _, fault = importsGo(name, content)
		return imports, fault, true
	}
	s := newSource(name, content)
	return s.imports(), s.fault, true
}

// imports returns the imports of a script or a Python file.
func (s *source) imports() []Import {
	if s.lang == python {
		return s.importsPython()
	}
	return s.importsJavaScript()
}

// importsGo returns the imports of a Go file, and whether the file is in package main.
func importsGo(name, content string) (imports []Import, program bool, fault string) {
	files := gotoken.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.ImportsOnly)
	if err != nil {
		return nil, false, "it is not valid Go"
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // valid, because the file parses
		imports = append(imports, Import{[]string{imported}, files.Position(spec.Pos()).Line})
	}
	return imports, file.Name.Name == "main", ""
}

// importsJavaScript finds import and export statements, and calls of import and require.
func (s *source) importsJavaScript() (imports []Import) {
	add := func(at, quote int) {
		found := Import{Line: s.line(s.at(at).start)}
		if quoted := s.at(quote); quoted.kind == text && len(quoted.text) > 1 && !strings.Contains(quoted.text, `\`) &&
			!strings.HasSuffix(quoted.text, "${") {
			specifier := quoted.text[1 : len(quoted.text)-1]
			if strings.HasPrefix(specifier, "./") || strings.HasPrefix(specifier, "../") || specifier == "." || specifier == ".." {
				specifier = below(path.Dir(s.name), specifier)
			}
			found.Names = []string{specifier}
		}
		imports = append(imports, found)
	}
	for i := range s.tokens {
		if s.oneOf(i-1, ".", "?.") {
			continue
		}
		switch {
		case s.is(i, "require", "("), s.is(i, "import", "("):
			end := i + 3 // a computed name has more tokens
			if s.oneOf(end, ")", ",") {
				add(i, i+2)
			} else {
				add(i, -1)
			}
		case s.is(i, "import") && s.at(i+1).kind == text:
			add(i, i+1)
		case s.is(i, "import") && !s.is(i+1, ".") || s.is(i, "export", "*") || s.is(i, "export", "{") || s.is(i, "export", "type", "{"):
			for j := i + 1; j < min(len(s.tokens), i+maxAhead); j++ {
				if s.is(j, "from") && s.at(j+1).kind == text {
					add(i, j+1)
					break
				}
				if p := s.partner(j); p > j {
					j = p
				} else if s.oneOf(j, ";", "=", "(", "import", "export") {
					break
				}
			}
		}
	}
	return imports
}

// importsPython finds import statements, and calls of __import__ and import_module.
func (s *source) importsPython() (imports []Import) {
	// dotted reads a name such as a.b, including leading dots.
	dotted := func(i int) (name string, next int) {
		for s.oneOf(i, ".", "...") || s.at(i).kind == word && !s.oneOf(i, "import", "as") && (name == "" || strings.HasSuffix(name, ".")) {
			name += s.at(i).text
			i++
		}
		return name, i
	}
	add := func(at int, names ...string) {
		imports = append(imports, Import{names, s.line(s.at(at).start)})
	}
	for i := range s.tokens {
		switch {
		case s.is(i, "__import__", "("), s.is(i, "import_module", "("):
			if quoted := s.at(i + 2); quoted.kind == text && s.oneOf(i+3, ")", ",") &&
				strings.Trim(quoted.text, `"'`) == quoted.text[1:len(quoted.text)-1] {
				add(i, s.pythonNames(quoted.text[1:len(quoted.text)-1])...)
			} else {
				add(i)
			}
		case s.is(i, "from"):
			module, at := dotted(i + 1)
			if module == "" || !s.is(at, "import") {
				continue // yield from, raise from
			}
			if len(module) > maxPath { // each name would repeat the module
				add(i)
				continue
			}
			for at++; s.is(at, "("); at++ {
			}
			for {
				names := s.pythonNames(module)
				if !s.is(at, "*") && s.at(at).kind == word {
					names = append(names, s.pythonNames(strings.TrimSuffix(module, ".")+"."+s.at(at).text)...)
					if strings.Trim(module, ".") == "" { // from . import name
						names = append(s.pythonNames(module), s.pythonNames(module+s.at(at).text)...)
					}
				}
				add(i, names...)
				if at++; s.is(at, "as") {
					at += 2
				}
				for s.at(at).kind == newline {
					at++
				}
				if !s.is(at, ",") {
					break
				}
				for at++; s.at(at).kind == newline; at++ {
				}
				if s.at(at).kind != word {
					break // a trailing comma
				}
			}
		case s.is(i, "import") && s.begins(i), s.is(i, "import") && s.is(i-1, ":"):
			for at := i; s.is(at, "import") || s.is(at, ","); {
				var module string
				if module, at = dotted(at + 1); module == "" {
					break
				}
				add(i, s.pythonNames(module)...)
				if s.is(at, "as") {
					at += 2
				}
			}
		}
	}
	return imports
}

// pythonNames returns the names of a module, which may begin with the dots of a relative import.
func (s *source) pythonNames(module string) []string {
	own := strings.TrimLeft(module, ".")
	slashes := strings.ReplaceAll(own, ".", "/")
	level := len(module) - len(own)
	if level == 0 {
		return []string{slashes}
	}
	return []string{below(path.Dir(s.name), strings.Repeat("../", level-1)+slashes)}
}

// below returns the path from the workspace of a relative import in folder, with "./" in front
// unless it leads out of the workspace.
func below(folder, relative string) string {
	joined := path.Join(folder, relative)
	if joined == ".." || strings.HasPrefix(joined, "../") {
		return joined
	}
	return "./" + joined
}
