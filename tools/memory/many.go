package memory

import "github.com/toolfold/toolfold/tools"

// The actions on many entries at once.
var (
	exportAction = tools.Action[*Service]{
		Name:     "export",
		Legacy:   tools.Was("memory_export"),
		Summary:  "Return whole entries, for a backup or for import elsewhere.",
		Words:    "dump, download, copy, move elsewhere, all values",
		Doc:      "Without limit, all entries come at once.",
		Changed:  "Sorted; limit and cursor page.",
		Optional: tools.Fields{namespace, prefix, metadata.With(tools.Default(true)), limit.With(tools.Added()), cursor.With(tools.Added())},
		Returns: tools.Fields{
			count("count", "How many entries follow."), tools.Time("exportedAt", "When."),
			tools.List{Name: "data", Doc: "Entries, as import takes them.", Of: exported}, hasMore, nextCursor,
		},
		Effect:  tools.Reads,
		Example: `{"namespace": "default", "prefix": "team/"}`,
		Related: []string{"memory.import"},
		Run:     tools.Method((*Service).Export),
	}

	importAction = tools.Action[*Service]{
		Name:    "import",
		Legacy:  tools.Was("memory_import"),
		Summary: "Store many entries, as export returned them.",
		Words:   "restore, load many, bulk insert, bring in, migrate from a dump or backup",
		Doc:     "Bad entries are reported by index and the good ones kept. A namespace given here replaces that of each entry.",
		Changed: "storedAt is restored. The namespace argument overrides the entries' own, as it always claimed. " +
			"Values that are no objects, and members an entry does not have, are errors of that entry.",
		Required: tools.Fields{data},
		Optional: tools.Fields{overwrite.With(tools.Default(false)), namespace},
		Returns: tools.Fields{
			count("imported", "Entries stored."), count("skipped", "Entries whose key existed."),
			tools.List{Name: "errors", Doc: "Bad entries; absent if none.", Of: rejected},
			tools.Time("importedAt", "When."),
		},
		Effect:  tools.Sets,
		Example: `{"data": [{"key": "team/rules", "value": {"freeze": "Friday"}, "namespace": "default"}], "overwrite": true}`,
		Related: []string{"memory.export"},
		Run:     tools.Method((*Service).Import),
	}

	statsAction = tools.Action[*Service]{
		Name:     "stats",
		Legacy:   tools.Was("memory_stats"),
		Summary:  "Count entries and bytes per namespace.",
		Words:    "statistics, how many, how big, size, usage, number of, which namespaces",
		Changed:  "Adds bytes. detailed names the first 1,000 keys of a namespace; list has the rest.",
		Optional: tools.Fields{namespace, detailed.With(tools.Default(false))},
		Returns: tools.Fields{
			count("totalEntries", "Entries counted."), count("namespaceCount", "Namespaces that hold them."),
			tools.Object{Name: "byNamespace", Doc: "Per namespace: count, bytes of the values and, if detailed, the first 1,000 keys."},
			tools.Time("generatedAt", "When."),
		},
		Effect:  tools.Reads,
		Example: `{"detailed": true}`,
		Related: []string{"memory.list"},
		Run:     tools.Method((*Service).Stats),
	}

	bulkDeleteAction = tools.Action[*Service]{
		Name:    "bulk_delete",
		Legacy:  tools.Was("memory_bulk_delete"),
		Summary: "Remove the entries of some keys, or of all keys with a prefix.",
		Words:   "mass deletion, purge, clean up, erase many, delete all with a prefix",
		Doc:     "Takes keys or prefix, not both; clear empties a namespace.",
		Changed: "Refuses a call with neither keys nor prefix, which did nothing, and one with both, which ignored prefix. " +
			"notFound counts keys that did not exist.",
		Optional: tools.Fields{keys, namespace, prefix},
		Returns: tools.Fields{
			count("deleted", "Entries removed."), count("notFound", "Keys that did not exist."),
			tools.Strings("deletedKeys", "Their keys, sorted."), inSpace, tools.Time("deletedAt", "When."),
		},
		Effect:  tools.Deletes,
		Example: `{"keys": ["team/rules", "team/motto"]}`,
		Related: []string{"memory.delete", "memory.clear"},
		Run:     tools.Method((*Service).BulkDelete),
	}

	clearAction = tools.Action[*Service]{
		Name:     "clear",
		Legacy:   tools.Was("memory_clear"),
		Summary:  "Remove every entry of a namespace.",
		Words:    "empty, wipe, reset, delete everything, start over, the whole notebook",
		Required: tools.Fields{namespace.With(tools.MinLen(1)), confirm},
		Returns:  tools.Fields{count("cleared", "Entries removed."), inSpace, tools.Time("clearedAt", "When.")},
		Effect:   tools.Deletes,
		Example:  `{"namespace": "scratch", "confirm": true}`,
		Related:  []string{"memory.stats", "memory.bulk_delete"},
		Run:      tools.Method((*Service).Clear),
	}
)
