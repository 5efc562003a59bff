// Package memory is the family of the durable key-value notebook: JSON values under keys in
// namespaces, which can be found by key, prefix or words.
//
// Keys and namespaces may contain any character. Lists are in the byte order of namespace and key.
// Times are in UTC, with a precision of a microsecond.
//
// The family creates the words by which an entry is found; a store only stores them. If their form
// changes, a schema step marks the entries, and the first search replaces their words.
//
// It is not a stable API: see docs/stability.md.
package memory

import (
	_ "embed"

	"github.com/toolfold/toolfold"
)

//go:embed asks.txt
var asksText string

// Family declares the memory tools.
var Family = toolfold.Family{
	Name:     "memory",
	Summary:  "Notebook",
	Doc:      "JSON values by key. Without namespace, search, list, export and stats look at all.",
	Words:    "notes, memories, facts, entries, knowledge, remember, diary, knowledge base, records, jottings",
	Category: "memory",
	Tier:     toolfold.Core,
	Asks:     asksText,
	Actions: []*toolfold.Action{{
		Name:    "store",
		Legacy:  toolfold.OldNames{{Name: "memory_store", Required: toolfold.Fields{object}}},
		Summary: "Keep JSON under a key, replacing any value there.",
		Words:   "save, write down, note, memo, record, persist, put, set, cache, update, overwrite, jot down, note down, learn, stash, bookmark",
		Changed: "Entries survive a restart. replaced reports whether the key existed. Values over 256 KiB answer VALUE_TOO_LARGE. " +
			"The value need not be an object.",
		Required: toolfold.Fields{key, value},
		Optional: toolfold.Fields{
			namespace, tags.With(toolfold.AtMost(maxTags), toolfold.Added()), ttl.With(toolfold.Added()),
			ifAbsent.With(toolfold.Default(false), toolfold.InsteadOf(overwrite.Name), toolfold.Added()),
			scope.With(toolfold.Added()),
		},
		Effect:  toolfold.Sets,
		Example: `{"key": "team/rules", "value": {"freeze": "Friday"}}`,
		Related: []string{"memory.get", "memory.search"},
		Run:     toolfold.Method(withFiles((*Service).Store)),
	}, {
		Name:    "get",
		Legacy:  toolfold.OldNames{{Name: "memory_retrieve", Required: toolfold.Fields{key}}},
		Summary: "Read the entry of a key, or several.",
		Words:   "recall, retrieve, read back, fetch, load, open",
		Optional: toolfold.Fields{key, keys.With(toolfold.AtMost(maxKeysRead), toolfold.Added()), namespace,
			project.With(toolfold.Added()), version.With(toolfold.Added())},
		Either:  toolfold.Fields{key, keys},
		Effect:  toolfold.Reads,
		Example: `{"key": "team/rules"}`,
		Related: []string{"memory.search", "memory.list"},
		Run:     toolfold.Method(withFiles((*Service).Get)),
	}, {
		Name:    "search",
		Legacy:  toolfold.Was("memory_search"),
		Summary: "Find entries by words, best first.",
		Words:   "find, query, look for, locate, grep, mention, talk about, full text, content, scan",
		Doc: `Ignores case, accents and English word forms. Rare words and words of the key count most; only ` +
			`"words in quotes" must be there, side by side. ` +
			"An unknown word finds longer or similar ones.",
		Changed: "Looks into values, and for words instead of a piece of the key; ranks; adds score. " +
			"Values of more than 500 characters come as excerpt and size. " +
			`namespace is absent, not "all", when all were searched.`,
		Required: toolfold.Fields{text},
		Optional: toolfold.Fields{
			namespace, limit.With(toolfold.Default(10), toolfold.Max(100)), prefix.With(toolfold.Added()),
			tags.With(toolfold.AtMost(maxTags), toolfold.Added()), project.With(toolfold.Added()), cursor.With(toolfold.Added()),
		},
		Effect:  toolfold.Reads,
		Example: `{"query": "deploy freeze"}`,
		Related: []string{"memory.list", "memory.get"},
		Run:     toolfold.Method(withFiles((*Service).Search)),
	}, {
		Name:    "list",
		Legacy:  toolfold.Was("memory_list"),
		Summary: "List keys.",
		Words:   "browse, enumerate, which keys, names, overview, starting with",
		Changed: "Sorted. total counts all that match, not those on the page; hasMore is exact; cursor pages.",
		Optional: toolfold.Fields{
			namespace, limit.With(toolfold.Default(100), toolfold.Max(1000)), prefix, tags.With(toolfold.AtMost(maxTags), toolfold.Added()),
			project.With(toolfold.Added()), order.With(toolfold.Default(byKey), toolfold.Added()), cursor.With(toolfold.Added()),
			history.With(toolfold.Default(false), toolfold.Added()),
		},
		Effect:  toolfold.Reads,
		Example: `{"prefix": "team/"}`,
		Related: []string{"memory.search", "memory.stats"},
		Run:     toolfold.Method(withFiles((*Service).List)),
	}, {
		Name:     "delete",
		Legacy:   toolfold.Was("memory_delete"),
		Summary:  "Remove the entry of one key.",
		Words:    "forget, erase, drop, throw away, remove one, take back",
		Required: toolfold.Fields{key},
		Optional: toolfold.Fields{namespace, project.With(toolfold.Added()), dryRun.With(toolfold.Default(false), toolfold.Added()),
			purge.With(toolfold.Default(false), toolfold.Added())},
		Effect:  toolfold.Deletes,
		Example: `{"key": "team/rules"}`,
		Related: []string{"memory.restore", "memory.bulk_delete"},
		Run:     toolfold.Method(withFiles((*Service).Delete)),
	}, {
		Name:    "restore",
		Summary: "Bring back an earlier version.",
		Words:   "undo, undelete, revert, roll back, go back, recover, previous version, history, get back, as it was",
		Doc: "Also of a deleted entry. Without version the latest earlier one, once. The version that it replaces becomes an earlier " +
			"one. Only entries of this workspace, or of scope user.",
		Required: toolfold.Fields{key},
		Optional: toolfold.Fields{version, namespace, scope},
		Effect:   toolfold.Sets,
		Example:  `{"key": "team/rules"}`,
		Related:  []string{"memory.list", "memory.get"},
		Run:      toolfold.Method(withFiles((*Service).Restore)),
	}, {
		Name:    "export",
		Legacy:  toolfold.Was("memory_export"),
		Summary: "Return whole entries, as import takes them.",
		Words:   "dump, download, copy, move elsewhere, all values, archive",
		Doc: "Follow nextCursor while hasMore. A page has up to 24 KiB; with limit, as much as an answer may have. Larger entries " +
			"come as omitted; from the shell all is whole.",
		Changed: "Sorted, and in pages: limit and cursor go through them.",
		Optional: toolfold.Fields{
			namespace, prefix, metadata.With(toolfold.Default(true)),
			tags.With(toolfold.AtMost(maxTags), toolfold.Added()), project.With(toolfold.Added()),
			limit.With(toolfold.Max(maxMany), toolfold.Added()), cursor.With(toolfold.Added()),
		},
		Effect:  toolfold.Reads,
		Example: `{"namespace": "default", "prefix": "team/"}`,
		Related: []string{"memory.import"},
		Run:     toolfold.Method(withFiles((*Service).Export)),
	}, {
		Name:    "import",
		Legacy:  toolfold.OldNames{{Name: "memory_import", Required: toolfold.Fields{entriesWith(object).With(toolfold.AtMost(maxImport))}}},
		Summary: "Store many entries.",
		Words:   "load many, load a backup, bulk insert, bring in, upload",
		Doc: "Keeps the good entries of data and reports bad ones; a file with a bad one is refused. namespace replaces each entry's " +
			"own. tools.call with saveTo writes an export to a file.",
		Changed: "storedAt is restored. The namespace argument overrides the entries' own, as it always claimed. " +
			"Members an entry does not have are errors of that entry. Takes 30,000 entries at once.",
		Optional: append(toolfold.Fields{data.With(toolfold.AtMost(maxImport)), file.With(toolfold.Added()),
			overwrite.With(toolfold.Default(false)), namespace}, answer...),
		Either:  toolfold.Fields{data, file},
		Effect:  toolfold.Sets,
		Example: `{"data": [{"key": "team/rules", "value": {"freeze": "Friday"}, "namespace": "default"}], "overwrite": true}`,
		Related: []string{"memory.export"},
		Run:     toolfold.Method(withFiles((*Service).Import)),
	}, {
		Name:    "stats",
		Legacy:  toolfold.Was("memory_stats"),
		Summary: "Count entries and bytes per namespace.",
		Words:   "statistics, how many, how big, size, usage, number of, which namespaces, bytes, space",
		Changed: "Adds bytes, and pages of namespaces. detailed names the first 1,000 keys of a page; list has the rest.",
		Optional: toolfold.Fields{
			namespace, detailed.With(toolfold.Default(false)),
			limit.With(toolfold.Default(maxStats), toolfold.Max(maxStats), toolfold.Added()), cursor.With(toolfold.Added()),
		},
		Effect:  toolfold.Reads,
		Example: `{"detailed": true}`,
		Related: []string{"memory.list"},
		Run:     toolfold.Method(withFiles((*Service).Stats)),
	}, {
		Name:    "bulk_delete",
		Legacy:  toolfold.Was("memory_bulk_delete"),
		Summary: "Remove the entries of keys, or of a prefix.",
		Words:   "mass deletion, purge, clean up, erase many, sweep out, weed",
		Changed: "Refuses a call with neither keys nor prefix, which did nothing, and one with both, which ignored prefix. " +
			"notFound counts keys that did not exist. Takes 1,000 keys at once.",
		Optional: toolfold.Fields{
			keys.With(toolfold.AtMost(maxMany)), namespace, prefix, project.With(toolfold.Added()),
			dryRun.With(toolfold.Default(false), toolfold.Added()), purge.With(toolfold.Default(false), toolfold.Added()),
		},
		Either:  toolfold.Fields{keys, prefix},
		Effect:  toolfold.Deletes,
		Example: `{"keys": ["team/rules", "team/motto"]}`,
		Related: []string{"memory.delete", "memory.clear"},
		Run:     toolfold.Method(withFiles((*Service).BulkDelete)),
	}, {
		Name:     "clear",
		Legacy:   toolfold.Was("memory_clear"),
		Summary:  "Empty a namespace.",
		Words:    "empty, wipe, reset, delete everything, start over, shred, erase all",
		Required: toolfold.Fields{namespace.With(toolfold.MinLen(1)), confirm},
		Optional: toolfold.Fields{project.With(toolfold.Added()), purge.With(toolfold.Default(false), toolfold.Added())},
		Effect:   toolfold.Deletes,
		Example:  `{"namespace": "scratch", "confirm": true}`,
		Related:  []string{"memory.stats", "memory.bulk_delete"},
		Run:      toolfold.Method(withFiles((*Service).Clear)),
	}},
}
