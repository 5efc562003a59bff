package component

import (
	"embed"
	"fmt"
	"go/format"
	"slices"
	"strings"
	"text/template"

	"github.com/toolfold/toolfold/tools/design/text"
)

// language holds the rules of a language; its template says the rest.
type language struct {
	title string

	reserved      []string // words that nothing can be called
	freeFields    bool     // but fields of records
	takenTypes    []string // names of types, functions and variables that the templates use
	takenMembers  []string // names of members that objects have anyway
	takenPackages []string

	field     func(words []string) string // a member of a record
	member    func(words []string) string // a variable or parameter
	function  func(words []string) string
	namespace func(words []string) string // nil = the file itself is the namespace

	spell     func(t typ, of []string) string            // a type, of spelt parts
	optional  func(spelt string, t typ) string           // a field that may be absent
	reference func(name string) string                   // the type of something to depend on
	escape    *strings.Replacer                          // of lines in comments
	remark    func(indent string, lines []string) string // a comment
	gap       string                                     // between interface and implementation
	finish    func(code string) string                   // nil = as it is
}

// comment splits a text into lines that can stand in a comment.
func (l language) comment(doc string) []string {
	return text.Lines(l.escape.Replace(doc))
}

// claim takes a name in a scope; a reserved word gets an underscore.
func (l language) claim(scope text.Scope, name string) string {
	if slices.Contains(l.reserved, name) {
		name += "_"
	}
	return scope.Claim(name)
}

//go:embed templates
var templates embed.FS

// render fills the language's template in.
func (l language) render(v *view) Code {
	t := template.New("").Funcs(template.FuncMap{
		"comment": l.remark,
		"line":    func(lines []string) string { return strings.Join(lines, " ") },
		"lines":   func(lines ...string) []string { return lines },
	})
	t = template.Must(t.ParseFS(templates, "templates/"+strings.ToLower(l.title)+".tmpl"))
	part := func(name string) string {
		var b strings.Builder
		// The templates and what fills them are our own.
		if err := t.ExecuteTemplate(&b, name, v); err != nil {
			panic(fmt.Sprintf("component: %v", err))
		}
		code := strings.Trim(b.String(), "\n") + "\n"
		if l.finish != nil {
			code = l.finish(code)
		}
		return code
	}
	return Code{Interface: part("interface"), Implementation: part("implementation"), gap: l.gap}
}

// starred writes a comment of the kind that JavaDoc has.
func starred(indent string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	if len(lines) == 1 {
		return indent + "/** " + lines[0] + " */\n"
	}
	return indent + "/**\n" + prefixed(indent+" * ")("", lines) + indent + " */\n"
}

// prefixed writes a comment whose every line has a prefix.
func prefixed(prefix string) func(indent string, lines []string) string {
	return func(indent string, lines []string) string {
		var b strings.Builder
		for _, line := range lines {
			b.WriteString(strings.TrimRight(indent+prefix+line, " ") + "\n")
		}
		return b.String()
	}
}

// docstring writes a Python docstring; its lines are escaped.
func docstring(indent string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	body := strings.Join(lines, "\n"+indent)
	if len(lines) > 1 {
		body += "\n" + indent
	}
	body = strings.ReplaceAll(body, "\n"+indent+"\n", "\n\n")
	return indent + `"""` + body + `"""` + "\n"
}

var closeStar = strings.NewReplacer("*/", `*\/`)

var languages = map[string]language{
	"typescript": {
		title:    "TypeScript",
		reserved: jsReserved,
		takenTypes: strings.Fields("Promise Record Array Set Date Error Uint8Array Object Symbol Function String Number Boolean Map " +
			"sharedInstance input deps"),
		// What objects have anyway cannot be a field of a class.
		takenMembers: strings.Fields("constructor prototype toString valueOf sharedInstance"),
		field:        text.Camel, member: text.Camel, function: text.Camel, namespace: text.Camel, freeFields: true,
		spell: spellTS, optional: asIs, reference: itself, escape: closeStar, gap: "\n", remark: starred,
	},
	"javascript": {
		title:    "JavaScript",
		reserved: jsReserved,
		takenTypes: strings.Fields("Promise Record Array Set Date Error Uint8Array Object Symbol Function String Number Boolean Map " +
			"sharedInstance input deps"),
		takenMembers: strings.Fields("constructor prototype toString valueOf sharedInstance"),
		field:        text.Camel, member: text.Camel, function: text.Camel, namespace: text.Camel, freeFields: true,
		// A tag or a brace in a comment would be JSDoc.
		spell: spellTS, optional: asIs, reference: itself, escape: strings.NewReplacer("*/", `*\/`, "@", "(at)", "{", "(", "}", ")"), gap: "\n",
		remark: starred,
	},
	"python": {
		title:    "Python",
		reserved: pythonReserved,
		takenTypes: strings.Fields("None True False Any Optional Protocol NotImplementedError Exception dataclass datetime str int float " +
			"bool bytes list dict set object self input deps typing dataclasses"),
		takenMembers: strings.Fields("self input output"),
		field:        text.Snake, member: text.Snake, function: text.Snake,
		spell: func(t typ, of []string) string {
			switch t.shape {
			case texts:
				return "str"
			case integer:
				return "int"
			case number:
				return "float"
			case boolean:
				return "bool"
			case moment:
				return "datetime"
			case bytes:
				return "bytes"
			case list:
				return "list[" + of[0] + "]"
			case set:
				return "set[" + of[0] + "]"
			case dict:
				return "dict[" + of[0] + ", " + of[1] + "]"
			case maybe:
				return "Optional[" + of[0] + "]"
			}
			return "Any"
		},
		optional:  func(spelt string, _ typ) string { return "Optional[" + spelt + "]" },
		reference: itself, escape: strings.NewReplacer(`\`, `\\`, `"`, `\"`), gap: "\n\n", remark: docstring,
	},
	"go": {
		title: "Go",
		reserved: strings.Fields(`break default func interface select case defer go map struct chan else goto package switch
			const fallthrough if range type continue for import return var context errors time sync any error string int64 float64
			bool byte nil true false`),
		takenTypes:    []string{"init", "main"},
		takenMembers:  strings.Fields("c ctx input output sharedOnce sharedInstance"),
		takenPackages: []string{"main", "init", "internal", "vendor", "testdata"},
		field:         text.Pascal, member: text.Camel, function: text.Pascal,
		spell: func(t typ, of []string) string {
			switch t.shape {
			case texts:
				return "string"
			case integer:
				return "int64"
			case number:
				return "float64"
			case boolean:
				return "bool"
			case moment:
				return "time.Time"
			case bytes:
				return "[]byte"
			case list:
				return "[]" + of[0]
			case set:
				return "map[" + of[0] + "]struct{}"
			case dict:
				return "map[" + of[0] + "]" + of[1]
			case maybe:
				return pointer(of[0], t.of[0])
			}
			return "any"
		},
		optional: pointer, reference: itself, escape: strings.NewReplacer(), gap: "\n", remark: prefixed("// "),
		finish: func(code string) string {
			formatted, err := format.Source([]byte(code))
			if err != nil {
				panic(fmt.Sprintf("component: the Go template makes no Go: %v\n%s", err, code))
			}
			return string(formatted)
		},
	},
	"rust": {
		title: "Rust",
		reserved: strings.Fields(`as async await break const continue crate dyn else enum extern false fn for gen if impl in let
			loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while
			abstract become box do final macro override priv try typeof unsized virtual yield std core alloc`),
		takenTypes: strings.Fields("Self Option Some None Vec String Box Result Ok Err Send Sync Debug input deps std core alloc crate " +
			"self super"),
		takenMembers: strings.Fields("new input output self"),
		field:        text.Snake, member: text.Snake, function: text.Snake,
		namespace: func(words []string) string { return text.Snake(words) + "_module" },
		spell: func(t typ, of []string) string {
			switch t.shape {
			case texts:
				return "String"
			case integer:
				return "i64"
			case number:
				return "f64"
			case boolean:
				return "bool"
			case moment:
				return "std::time::SystemTime"
			case bytes:
				return "Vec<u8>"
			case list:
				return "Vec<" + of[0] + ">"
			case set:
				return "std::collections::HashSet<" + of[0] + ">"
			case dict:
				return "std::collections::HashMap<" + of[0] + ", " + of[1] + ">"
			case maybe:
				return "Option<" + of[0] + ">"
			}
			return "Box<dyn std::any::Any>"
		},
		optional:  func(spelt string, _ typ) string { return "Option<" + spelt + ">" },
		reference: func(name string) string { return "Box<dyn " + name + ">" },
		escape:    strings.NewReplacer(), gap: "\n", remark: prefixed("/// "),
	},
	"java": {
		title: "Java",
		reserved: strings.Fields(`abstract assert boolean break byte case catch char class const continue default do double else
			enum extends final finally float for goto if implements import instanceof int interface long native new package
			private protected public return short static strictfp super switch synchronized this throw throws transient try
			void volatile while true false null var yield record sealed permits clone finalize getClass hashCode notify
			notifyAll toString wait`),
		takenTypes: strings.Fields(`String Long Double Boolean Object Instant List Map Set Record Override Deprecated
			UnsupportedOperationException Integer System Void FunctionalInterface input deps`),
		takenMembers: strings.Fields("input output sharedInstance"),
		field:        text.Camel, member: text.Camel, function: text.Camel, namespace: text.Pascal,
		spell: func(t typ, of []string) string {
			switch t.shape {
			case texts:
				return "String"
			case integer:
				return "Long"
			case number:
				return "Double"
			case boolean:
				return "Boolean"
			case moment:
				return "Instant"
			case bytes:
				return "byte[]"
			case list:
				return "List<" + of[0] + ">"
			case set:
				return "Set<" + of[0] + ">"
			case dict:
				return "Map<" + of[0] + ", " + of[1] + ">"
			case maybe:
				return of[0]
			}
			return "Object"
		},
		// A backslash before u would be read as the character of that code.
		optional: asIs, reference: itself, escape: strings.NewReplacer("*/", "*&#47;", `\`, "&#92;", "@", "&#64;"), gap: "\n", remark: starred,
	},
}

func spellTS(t typ, of []string) string {
	switch t.shape {
	case texts:
		return "string"
	case integer, number:
		return "number"
	case boolean:
		return "boolean"
	case moment:
		return "Date"
	case bytes:
		return "Uint8Array"
	case list:
		return "Array<" + of[0] + ">"
	case set:
		return "Set<" + of[0] + ">"
	case dict:
		if t.of[0].shape == boolean { // which a Record does not take
			return "Map<" + of[0] + ", " + of[1] + ">"
		}
		return "Record<" + of[0] + ", " + of[1] + ">"
	case maybe:
		return "(" + of[0] + " | null)"
	}
	return "unknown"
}

// pointer is a Go type that can be nil.
func pointer(spelt string, t typ) string {
	switch t.shape {
	case list, set, dict, bytes, anything:
		return spelt
	}
	return "*" + spelt
}

func asIs(spelt string, _ typ) string { return spelt }

func itself(name string) string { return name }

// jsReserved are the words that a variable or parameter in a module cannot be
// called.
var jsReserved = strings.Fields(`await break case catch class const continue debugger default delete do else enum
	export extends false finally for function if implements import in instanceof interface let new null package private
	protected public return static super switch this throw true try typeof undefined var void while with yield arguments
	eval any unknown never string number boolean object symbol bigint`)

var pythonReserved = strings.Fields(`False None True and as assert async await break class continue def del elif else except
	finally for from global if import in is lambda nonlocal not or pass raise return try while with yield match case type`)
