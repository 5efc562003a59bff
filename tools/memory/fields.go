package memory

import "github.com/toolfold/toolfold/tools"

// maxCursor is the length of a cursor with the longest namespace and key, whatever
// characters are in them.
const maxCursor = 5000

// The parameters.
var (
	key       = tools.String{Name: "key", Doc: "Name of the entry.", MinLen: 1, MaxLen: maxKey}
	value     = tools.Any{Name: "value", Doc: "JSON, up to 256 KiB."}
	object    = tools.Object{Name: "value", Doc: "JSON object, at most 256 KiB."}
	namespace = tools.String{Name: "namespace", Doc: "Notebook; else default or all.", MaxLen: maxNamespace}
	text      = tools.String{Name: "query", Doc: `Words or a question.`, MinLen: 1, MaxLen: 500}
	limit     = tools.Int{Name: "limit", Doc: "Most entries to return.", Min: 1}
	prefix    = tools.String{Name: "prefix", Doc: "Start of the keys.", MaxLen: 200}
	cursor    = tools.Cursor.With(tools.MaxLen(maxCursor)).Param()
	metadata  = tools.Bool{Name: "includeMetadata", Doc: "Include storedAt."}
	overwrite = tools.Bool{Name: "overwrite", Doc: "Replace entries that exist; otherwise they are skipped."}
	detailed  = tools.Bool{Name: "detailed", Doc: "Name the keys too."}
	keys      = tools.List{Name: "keys", Doc: "Several keys.", Of: tools.String{MinLen: 1, MaxLen: maxKey}}
	confirm   = tools.Bool{Name: "confirm", Doc: "Must be true."}
	storedAt  = tools.Time("storedAt", "When the entry was stored.")
	data      = entriesWith(value)
)

// entriesWith declares a list of entries to import. They are checked one by
// one, so that a bad one does not refuse the others.
func entriesWith(value tools.Field) tools.List {
	return tools.List{Name: "data", Doc: "Entries, as export returns them.", Of: tools.Object{
		Required: tools.Fields{key, value},
		Optional: tools.Fields{namespace, storedAt.With(tools.Added())},
		Loose:    true,
	}}
}
