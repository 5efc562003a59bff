package memory

import (
	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
)

// maxCursor is enough for a cursor with the longest namespace, key and workspace of any characters.
const maxCursor = 10_000

// dataName is the name of the list of entries, in import and in the result of export.
const dataName = "data"

// Scopes of store.
const (
	scopeWorkspace = "workspace"
	scopeUser      = "user"
)

// The parameters.
var (
	key       = toolfold.String{Name: "key", Doc: "Name of the entry.", MinLen: 1, MaxLen: maxKey}
	value     = toolfold.Any{Name: "value", Doc: "JSON, up to 256 KiB."}
	object    = toolfold.Object{Name: "value", Doc: "JSON object, at most 256 KiB."}
	namespace = toolfold.String{Name: "namespace", Doc: "Notebook; else default or all.", MaxLen: maxNamespace}
	text      = toolfold.String{Name: "query", Also: []string{"q"}, Doc: `Words or a question.`, MinLen: 1, MaxLen: 500}
	limit     = toolfold.Int{Name: "limit", Doc: "Most entries to return.", Min: 1}
	prefix    = toolfold.String{Name: "prefix", Doc: "Start of the keys.", MaxLen: 200}
	cursor    = toolfold.Cursor.With(toolfold.MaxLen(maxCursor)).Param()
	metadata  = toolfold.Bool{Name: "includeMetadata", Doc: "Include storedAt and workspace."}
	overwrite = toolfold.Bool{Name: "overwrite", Doc: "Replace entries that exist; otherwise they are skipped."}
	detailed  = toolfold.Bool{Name: "detailed", Doc: "Name the keys too."}
	keys      = toolfold.List{Name: "keys", Doc: "Several keys.", Of: toolfold.String{MinLen: 1, MaxLen: maxKey}}
	confirm   = toolfold.Bool{Name: "confirm", Doc: "Must be true."}
	storedAt  = toolfold.Time("storedAt", "When the entry was stored.")
	expiresAt = toolfold.Time("expiresAt", "When the entry expires.")
	tags      = toolfold.List{Name: "tags", Doc: "Labels; a filter wants them all.", Of: toolfold.String{MinLen: 1, MaxLen: 50}}
	project   = toolfold.String{Name: "workspace", Doc: "Its workspace; . is this one, user all.", MaxLen: 500}
	scope     = toolfold.String{Name: "scope", Doc: "workspace, or user for all.", MaxLen: 20}
	ttl       = toolfold.Int{Name: "ttlMs", Doc: "Milliseconds until it is gone; 0 = never.", Max: maxTTL}
	ifAbsent  = toolfold.Bool{Name: "ifAbsent", Doc: "Refuse a key that exists."}
	order     = toolfold.String{Name: "order", Doc: "Order of the list.", Enum: []string{byKey, newest}}
	version   = toolfold.Int{Name: "version", Doc: "Number of an earlier version.", Min: 1}
	history   = toolfold.Bool{Name: "history", Doc: "List earlier versions, also of deleted keys."}
	purge     = toolfold.Bool{Name: "purge", Doc: "Remove earlier versions too: no restore."}
	dryRun    = toolfold.Bool{Name: "dryRun", Doc: "Only report, delete nothing."}
	data      = entriesWith(value)
	file      = toolfold.String{Name: "path", Doc: "File of the workspace with them, such as a saved export.", MaxLen: workspace.MaxPath}

	// The other fields of a result of export, so that import accepts it unchanged.
	answer = toolfold.Fields{
		toolfold.Bool{Name: "hasMore", Doc: "Of the export."}.With(toolfold.Added()),
		toolfold.Int{Name: "count", Doc: "Of the export."}.With(toolfold.Added()),
		toolfold.String{Name: "exportedAt", Doc: "Of the export."}.With(toolfold.Added()),
		toolfold.String{Name: "message", Doc: "Of the export."}.With(toolfold.Added()),
		toolfold.String{Name: "nextCursor", Doc: "Of the export.", MaxLen: maxCursor}.With(toolfold.Added()),
	}
)

// entriesWith declares a list of entries to import. Each entry is checked on its own, so that an
// invalid one does not fail the call.
func entriesWith(value toolfold.Field) toolfold.List {
	return toolfold.List{Name: dataName, Doc: "Entries, as export returns them.", Of: toolfold.Object{
		Required: toolfold.Fields{key, value},
		Optional: toolfold.Fields{
			namespace, storedAt.With(toolfold.Added()), tags.With(toolfold.AtMost(maxTags), toolfold.Added()),
			expiresAt.With(toolfold.Added()), project.With(toolfold.Added()),
		},
		Loose: true,
	}}
}
