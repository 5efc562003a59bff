package scan

import (
	"go/parser"
	gotoken "go/token"
	"path"
	"strconv"
	"strings"
)

// Import is something that a source file imports.
type Import struct {
	// Names lists the names that it may be called by: as it is written, with slashes, and
	// for what is imported by a relative path the path from the workspace with
	// "./" in front. Empty where it is known only when the file runs.
	Names []string
	Line  int
}

// Imports returns what a source file in the workspace imports. Fault says why
// not all of it could be read; known is false for files of other languages.
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

// imports returns what a script or a Python file imports.
func (s *source) imports() []Import {
	if s.lang == python {
		return s.importsPython()
	}
	return s.importsJavaScript()
}

// importsGo returns what a Go file imports, and whether it is part of a program's main package.
func importsGo(name, content string) (imports []Import, program bool, fault string) {
	files := gotoken.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.ImportsOnly)
	if err != nil {
		return nil, false, "it is not valid Go"
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		imports = append(imports, Import{[]string{imported}, files.Position(spec.Pos()).Line})
	}
	return imports, file.Name.Name == "main", ""
}

// importsJavaScript finds import and export statements, and calls of import
// and require.
func (s *source) importsJavaScript() (imports []Import) {
	add := func(at, quote int) {
		found := Import{Line: s.line(s.at(at).start)}
		if quoted := s.at(quote); quoted.kind == text && len(quoted.text) > 1 && !strings.Contains(quoted.text, `\`) &&
			!strings.HasSuffix(quoted.text, "${") {
			written := quoted.text[1 : len(quoted.text)-1]
			if strings.HasPrefix(written, "./") || strings.HasPrefix(written, "../") || written == "." || written == ".." {
				written = below(path.Dir(s.name), written)
			}
			found.Names = []string{written}
		}
		imports = append(imports, found)
	}
	for i := range s.tokens {
		if s.oneOf(i-1, ".", "?.") {
			continue
		}
		switch {
		case s.is(i, "require", "("), s.is(i, "import", "("):
			end := i + 3 // what is computed ends with more than a text
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

// importsPython finds import statements, and calls of __import__ and
// import_module.
func (s *source) importsPython() (imports []Import) {
	// dotted reads a name such as a.b, dots in front included.
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
			if len(module) > maxPath { // each name would repeat it
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
					break // the comma before a bracket
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

// pythonNames are the names of a module, which may begin with the dots of a
// relative import.
func (s *source) pythonNames(module string) []string {
	own := strings.TrimLeft(module, ".")
	slashes := strings.ReplaceAll(own, ".", "/")
	level := len(module) - len(own)
	if level == 0 {
		return []string{slashes}
	}
	return []string{below(path.Dir(s.name), strings.Repeat("../", level-1)+slashes)}
}

// below is the path from the workspace of what a file in a folder imports by a
// relative path, with "./" in front unless it leads out.
func below(folder, relative string) string {
	joined := path.Join(folder, relative)
	if joined == ".." || strings.HasPrefix(joined, "../") {
		return joined
	}
	return "./" + joined
}
