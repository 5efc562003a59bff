package schema

import (
	"fmt"
	"strings"

	"github.com/toolfold/toolfold/tools/design/text"
)

// zod writes a Zod object and the type that it stands for, for Zod 3.23 and
// later. A field of the record's own type is a getter's work in Zod 4 only, so
// it is lazy, which needs the type written out before.
func (r record) zod() string {
	var b strings.Builder
	b.WriteString("import { z } from \"zod\";\n\n")
	for _, o := range r.others {
		fmt.Fprintf(&b, "/** Stands for the schema %s: import it in place of this. */\nexport const %sSchema = z.unknown();\n\n", o.typeName,
			o.typeName)
	}
	recursive := false
	for _, f := range r.fields {
		recursive = recursive || f.ref == r.typeName
	}
	if recursive {
		b.WriteString(r.interfaceText(func(o string) string { return "z.infer<typeof " + o + "Schema>" }))
		b.WriteString("\n")
	}
	b.WriteString(jsDoc("", r.doc))
	if recursive {
		fmt.Fprintf(&b, "export const %sSchema: z.ZodType<%s> = z.object({\n", r.typeName, r.typeName)
	} else {
		fmt.Fprintf(&b, "export const %sSchema = z.object({\n", r.typeName)
	}
	for _, f := range r.fields {
		fmt.Fprintf(&b, "  %s: %s,\n", propertyKey(f.Name), r.zodType(f))
	}
	b.WriteString("});\n")
	if !recursive {
		fmt.Fprintf(&b, "\nexport type %s = z.infer<typeof %sSchema>;\n", r.typeName, r.typeName)
	}
	return b.String()
}

var zodTypes = map[string]string{
	String: "z.string()", Number: "z.number()", Integer: "z.number().int()", Boolean: "z.boolean()",
	Object: "z.record(z.string(), z.unknown())", Null: "z.null()",
	Date: "z.string().date()", DateTime: "z.string().datetime({ offset: true })",
	UUID: "z.string().uuid()", Email: "z.string().email()", URL: "z.string().url()",
}

func (r record) zodType(f field) string {
	inner := zodTypes[f.Type]
	switch {
	case f.ref == r.typeName:
		inner = fmt.Sprintf("z.lazy(() => %sSchema)", f.ref)
	case f.ref != "":
		inner = f.ref + "Schema"
	case len(f.EnumValues) > 0:
		inner = "z.enum([" + quoted(f.EnumValues, ", ") + "])"
	case f.Type == Array:
		inner = "z.unknown()"
	}
	if f.Type == Array {
		inner = "z.array(" + inner + ")"
	}
	if f.Nullable {
		inner += ".nullable()"
	}
	if !f.Required {
		inner += ".optional()"
	}
	if doc := text.Line(f.Description); doc != "" {
		inner += ".describe(" + text.Quote(doc) + ")"
	}
	return inner
}

func quoted(values []string, separator string) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = text.Quote(v)
	}
	return strings.Join(list, separator)
}
