package component

import (
	"embed"
	"fmt"
	"go/format"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/toolfold/toolfold/tools/design/text"
)

// language has the rules of a language; its template has the rest.
type language struct {
	title     string
	framework string // framework whose template replaces the language's; empty = no framework

	reserved       []string // words that are not allowed as names
	freeFields     bool     // reserved words are allowed as fields of records
	takenTypes     []string // names of types, functions and variables that the templates use
	takenMembers   []string // names of members that every object has
	takenPackages  []string
	reservedFields []string // names that are not allowed for properties
	initials       []string // words written in capitals in names

	field     func(words []string) string // a member of a record
	member    func(words []string) string // a variable or parameter
	function  func(words []string) string
	namespace func(words []string) string // nil = the file is the namespace

	spell     map[shape]string                           // syntax of types; $1 and $2 are their type parameters
	optional  func(spelt string, t typ) string           // an optional field or value
	event     func(spelt string, maybe bool) string      // a property called with an output; nil = outputs are a record
	reference string                                     // type of a dependency $1; empty = its name
	escape    *strings.Replacer                          // of lines in comments
	remark    func(indent string, lines []string) string // a comment
	gap       string                                     // between interface and implementation
	finish    func(code string) string                   // nil = unchanged
}

// words splits a name into words like [text.Words].
func (l language) words(name string) []string {
	words := text.Words(name)
	for i, w := range words {
		if upper := strings.ToUpper(w); slices.Contains(l.initials, upper) {
			words[i] = upper
		}
	}
	return words
}

// comment splits a text into lines for a comment.
func (l language) comment(doc string) []string {
	return text.Lines(l.escape.Replace(doc))
}

// claim claims a name in a scope. A reserved word gets an underscore.
func (l language) claim(scope text.Scope, name string) string {
	if slices.Contains(l.reserved, name) {
		name += "_"
	}
	return scope.Claim(name)
}

//go:embed templates
var templates embed.FS

// typeOf returns a type in the language's syntax, given its type parameters.
func (l language) typeOf(t typ, of []string) string {
	form := t.shape
	if form == dict && t.of[0].shape == boolean && l.spell[booleanDict] != "" {
		form = booleanDict
	}
	spelling, known := l.spell[form]
	if !known { // an optional type
		return l.optional(of[0], t.of[0])
	}
	for i, part := range of {
		spelling = strings.ReplaceAll(spelling, fmt.Sprint("$", i+1), part)
	}
	return spelling
}

// render fills the language's template in.
func (l language) render(v *view) Code {
	t := template.New("").Funcs(template.FuncMap{
		"comment": l.remark,
		"line":    func(lines []string) string { return strings.Join(lines, " ") },
		"lines":   func(lines ...string) []string { return lines },
	})
	file := "templates/" + strings.ToLower(l.title)
	t = template.Must(t.ParseFS(templates, file+".tmpl"))
	if l.framework != "" {
		t = template.Must(t.ParseFS(templates, file+"-"+l.framework+".tmpl"))
	}
	part := func(name string) string {
		var b strings.Builder
		// The templates and their data are our own.
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

// starred writes a comment in the form of JavaDoc.
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

// languages returns the languages by name. frameworks returns the languages of page components by
// framework and name. Both are built at their first use.
var languages = sync.OnceValue(func() map[string]language {
	return map[string]language{
		"typescript": script("TypeScript"),
		"javascript": script("JavaScript"),
		"python": {
			title: "Python",
			reserved: strings.Fields(`False None True and as assert async await break class continue def del elif else except
	finally for from global if import in is lambda nonlocal not or pass raise return try while with yield match case type`),
			takenTypes: strings.Fields("None True False Any Callable Optional Protocol NotImplementedError Exception dataclass datetime str int " +
				"float bool bytes list dict set object self input deps typing dataclasses"),
			takenMembers: strings.Fields("self input output"),
			field:        text.Snake, member: text.Snake, function: text.Snake,
			spell: map[shape]string{
				anything: "Any", callback: "Callable[..., Any]", texts: "str", integer: "int", number: "float", boolean: "bool",
				moment: "datetime", bytes: "bytes",
				list: "list[$1]", set: "set[$1]", dict: "dict[$1, $2]",
			},
			optional: func(spelt string, _ typ) string { return "Optional[" + spelt + "]" },
			escape:   strings.NewReplacer(`\`, `\\`, `"`, `\"`), gap: "\n\n", remark: docstring,
		},
		"go": {
			title: "Go",
			reserved: strings.Fields(`break default func interface select case defer go map struct chan else goto package switch
			const fallthrough if range type continue for import return var context errors time sync any error string int64 float64
			bool byte nil true false`),
			takenTypes:    []string{"init", "main"},
			takenMembers:  strings.Fields("c ctx input output sharedOnce sharedInstance"),
			takenPackages: []string{"main", "init", "internal", "vendor", "testdata"},
			initials: strings.Fields("ACL API CPU CSS DNS EOF GUID HTML HTTP ID IP JSON QPS RAM RPC SLA SMTP SQL SSH TCP TLS " +
				"TTL UDP UI GID UID UUID URI URL UTF8 VM XML XMPP XSRF XSS SIP RTP AMQP DB TS"),
			field: text.Pascal, member: text.Camel, function: text.Pascal,
			spell: map[shape]string{
				anything: "any", callback: "func(...any) any", texts: "string", integer: "int64", number: "float64", boolean: "bool",
				moment: "time.Time", bytes: "[]byte",
				list: "[]$1", set: "map[$1]struct{}", dict: "map[$1]$2",
			},
			optional: pointer, escape: strings.NewReplacer(), gap: "\n", remark: prefixed("// "),
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
			spell: map[shape]string{
				anything: "Box<dyn std::any::Any>", callback: "fn()", texts: "String", integer: "i64", number: "f64", boolean: "bool",
				moment: "std::time::SystemTime", bytes: "Vec<u8>",
				list: "Vec<$1>", set: "std::collections::HashSet<$1>", dict: "std::collections::HashMap<$1, $2>",
			},
			optional:  func(spelt string, _ typ) string { return "Option<" + spelt + ">" },
			reference: "Box<dyn $1>",
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
			UnsupportedOperationException Integer System Void FunctionalInterface Runnable input deps`),
			takenMembers: strings.Fields("input output sharedInstance"),
			field:        text.Camel, member: text.Camel, function: text.Camel, namespace: text.Pascal,
			spell: map[shape]string{
				anything: "Object", callback: "Runnable", texts: "String", integer: "Long", number: "Double", boolean: "Boolean",
				moment: "Instant", bytes: "byte[]",
				list: "List<$1>", set: "Set<$1>", dict: "Map<$1, $2>",
			},
			// A backslash before u would start a Unicode escape.
			optional: asIs, escape: strings.NewReplacer("*/", "*&#47;", `\`, "&#92;", "@", "&#64;"), gap: "\n", remark: starred,
		},
	}
})

// script returns TypeScript, or JavaScript, which has its types in comments: a tag or a brace there would be
// JSDoc. Also is replaced in comments too.
func script(title string, also ...string) language {
	escapes := append([]string{"*/", `*\/`}, also...)
	if title == "JavaScript" {
		escapes = append(escapes, "@", "(at)", "{", "(", "}", ")")
	}
	return language{
		title:    title,
		reserved: slices.Concat(text.ScriptWords, strings.Fields("any unknown never string number boolean object symbol bigint")),
		takenTypes: strings.Fields("Promise Record Array Set Date Error Uint8Array Object Symbol Function String Number Boolean Map " +
			"sharedInstance input deps"),
		// Members of every object cannot be fields of a class.
		takenMembers: strings.Fields("constructor prototype toString valueOf sharedInstance"),
		field:        text.Camel, member: text.Camel, function: text.Camel, namespace: text.Camel, freeFields: true,
		spell: map[shape]string{
			anything: "unknown", callback: "((...args: unknown[]) => unknown)", texts: "string", integer: "number", number: "number",
			boolean: "boolean", moment: "Date", bytes: "Uint8Array",
			list: "Array<$1>", set: "Set<$1>", dict: "Record<$1, $2>", booleanDict: "Map<$1, $2>", maybe: "($1 | null)",
		},
		optional: asIs, escape: strings.NewReplacer(escapes...), gap: "\n", remark: starred,
	}
}

var frameworks = sync.OnceValue(func() map[string]map[string]language {
	return map[string]map[string]language{
		"react": {"typescript": framed("TypeScript", "react"), "javascript": framed("JavaScript", "react")},
		"vue":   {"typescript": framed("TypeScript", "vue"), "javascript": framed("JavaScript", "vue")},
	}
})

// frameworksOf returns the rules of the frameworks that the patterns of a component name.
func frameworksOf(m Model, in string) (list []language) {
	seen := map[string]bool{}
	for _, p := range m.Patterns {
		p = strings.ToLower(text.Line(p))
		if l, known := frameworks()[p][in]; known && !seen[p] {
			seen[p] = true
			list = append(list, l)
		}
	}
	return list
}

// framed returns a script in which components are those of a framework.
func framed(title, framework string) language {
	l := script(title, "</", `<\/`) // this would end the script of a Vue file
	l.framework, l.reservedFields = framework, []string{"key", "ref"}
	switch {
	case framework == "react":
		l.takenTypes = append(strings.Fields("ReactNode props"), l.takenTypes...)
		l.event = func(spelt string, maybe bool) string {
			if maybe {
				return "(value?: " + spelt + ") => void"
			}
			return "(value: " + spelt + ") => void"
		}
	case title == "JavaScript": // properties are checked at run time
		l.spell = map[shape]string{
			anything: "null", callback: "Function", texts: "String", integer: "Number", number: "Number", boolean: "Boolean", moment: "Date",
			bytes: "Uint8Array", list: "Array", set: "Set", dict: "Object", booleanDict: "Map", maybe: "$1",
		}
	}
	return l
}

// pointer is a Go type that can be nil.
func pointer(spelt string, t typ) string {
	switch t.shape {
	case list, set, dict, bytes, anything, callback:
		return spelt
	}
	return "*" + spelt
}

func asIs(spelt string, _ typ) string { return spelt }
