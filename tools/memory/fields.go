package memory

import "github.com/toolfold/toolfold/tools"

// The parameters.
var (
	key       = tools.String{Name: "key", Doc: "Name of the entry.", MinLen: 1, MaxLen: maxKey}
	value     = tools.Object{Name: "value", Doc: "JSON object, at most 1 MB."}
	namespace = tools.String{Name: "namespace", Doc: `Notebook; else "default", or all in searches and lists.`, MaxLen: maxNamespace}
	query     = tools.String{Name: "query", Doc: "Words, all or some of which the entry has.", MinLen: 1, MaxLen: 500}
	limit     = tools.Int{Name: "limit", Doc: "Most entries to return.", Min: 1}
	prefix    = tools.String{Name: "prefix", Doc: "How the keys start.", MaxLen: 200}
	cursor    = tools.String{Name: "cursor", Doc: "nextCursor of the page before."}
	metadata  = tools.Bool{Name: "includeMetadata", Doc: "Include storedAt."}
	overwrite = tools.Bool{Name: "overwrite", Doc: "Replace entries that exist; otherwise they are skipped."}
	detailed  = tools.Bool{Name: "detailed", Doc: "Name the keys too."}
	keys      = tools.Strings("keys", "Keys to delete.")
	confirm   = tools.Bool{Name: "confirm", Doc: "Must be true."}
	storedAt  = tools.Time("storedAt", "When the entry was stored.")
	data      = tools.List{Name: "data", Doc: "Entries, as export returns them.", Of: tools.Object{
		Required: tools.Fields{key, value},
		Optional: tools.Fields{namespace, storedAt.With(tools.Added())},
		Loose:    true,
	}}
)

// The results.
var (
	message    = tools.String{Name: "message", Doc: "The outcome in words."}
	inSpace    = tools.String{Name: "namespace", Doc: "Notebook of the entry."}
	hasMore    = tools.Bool{Name: "hasMore", Doc: "Whether more follow."}
	nextCursor = tools.String{Name: "nextCursor", Doc: "Pass as cursor for the next page; absent on the last."}
	hit        = tools.Object{Required: tools.Fields{
		key, inSpace, value, storedAt,
		tools.Number{Name: "score", Doc: "Higher is better; 1 and more: every word matches."},
	}}
	heading  = tools.Object{Required: tools.Fields{key, inSpace, storedAt}}
	exported = tools.Object{Required: tools.Fields{key, value, inSpace}, Optional: tools.Fields{storedAt}}
	rejected = tools.Object{Required: tools.Fields{
		tools.Int{Name: "index", Doc: "Place of the entry in data, from 0."},
		tools.String{Name: "message", Doc: "What is wrong with it."},
	}}
)

func count(name, doc string) tools.Int {
	return tools.Int{Name: name, Doc: doc}
}
