package schema

import (
	"fmt"
	"strings"
)

// typeScript writes an interface.
func (r record) typeScript() string {
	var b strings.Builder
	for _, o := range r.others {
		fmt.Fprintf(&b, "/** Stands for the type %s: import it in place of this. */\nexport type %s = unknown;\n\n", o.typeName, o.typeName)
	}
	b.WriteString(jsDoc("", r.doc))
	b.WriteString(r.interfaceText(func(o string) string { return o }))
	return b.String()
}

// interfaceText writes the record as an interface; spell writes the type of
// another record.
func (r record) interfaceText(spell func(other string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "export interface %s {\n", r.typeName)
	for _, f := range r.fields {
		b.WriteString(jsDoc("  ", f.Description))
		optional := "?"
		if f.Required {
			optional = ""
		}
		fmt.Fprintf(&b, "  %s%s: %s;\n", propertyKey(f.Name), optional, r.tsType(f, spell))
	}
	b.WriteString("}\n")
	return b.String()
}

// tsTypes are the types as JSON has them: dates are texts.
var tsTypes = map[string]string{
	String: "string", Number: "number", Integer: "number", Boolean: "boolean",
	Object: "Record<string, unknown>", Null: "null",
	Date: "string", DateTime: "string", UUID: "string", Email: "string", URL: "string",
}

func (r record) tsType(f field, spell func(other string) string) string {
	inner := tsTypes[f.Type]
	switch {
	case f.ref == r.typeName:
		inner = f.ref
	case f.ref != "":
		inner = spell(f.ref)
	case len(f.EnumValues) > 0:
		inner = quoted(f.EnumValues, " | ")
	case f.Type == Array:
		inner = "unknown"
	}
	if f.Type == Array {
		inner = "Array<" + inner + ">"
	}
	if f.Nullable && f.Type != Null {
		inner += " | null"
	}
	if !f.Required {
		inner += " | undefined"
	}
	return inner
}
