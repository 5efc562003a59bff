// Package memory is the family of the durable key-value notebook: JSON objects
// under keys, in namespaces, found again by key, prefix or words.
//
// Keys and namespaces may hold any character. Lists are in the order of the
// bytes of namespace and key. Times are kept to the microsecond, in UTC.
package memory

import "github.com/toolfold/toolfold/tools"

// Family declares the memory tools.
var Family = tools.Family[*Service]{
	Name:     "memory",
	Summary:  "Key-value notebook",
	Doc:      "Entries are JSON objects that outlive the server. Keys and namespaces may hold any character.",
	Words:    "notes, memories, facts, entries, knowledge, remember",
	Category: tools.Memory,
	Tier:     tools.Core,
	Actions: []tools.Action[*Service]{{
		Name:     "store",
		Legacy:   tools.Was("memory_store"),
		Summary:  "Keep a JSON object under a key, replacing what is there.",
		Words:    "remember, save, write down, note, memo, record, persist, put, set, cache, update, overwrite",
		Changed:  "Entries survive a restart. replaced tells whether the key existed. Values over 1 MB answer VALUE_TOO_LARGE.",
		Required: tools.Fields{key, value},
		Optional: tools.Fields{namespace},
		Returns: tools.Fields{
			tools.Bool{Name: "success", Doc: "Always true."}, key, inSpace,
			tools.Bool{Name: "replaced", Doc: "Whether the key existed."}, message,
		},
		Effect:  tools.Sets,
		Example: `{"key": "team/rules", "value": {"freeze": "Friday"}}`,
		Related: []string{"memory.get", "memory.search"},
		Run:     tools.Method((*Service).Store),
	}, {
		Name:     "get",
		Legacy:   tools.Was("memory_retrieve"),
		Summary:  "Read the entry of a known key.",
		Words:    "recall, retrieve, read back, fetch, load, open, look up one value",
		Required: tools.Fields{key},
		Optional: tools.Fields{namespace},
		Returns: tools.Fields{
			tools.Bool{Name: "found", Doc: "Whether the key exists."}, key, inSpace, value, storedAt, message,
		},
		Effect:  tools.Reads,
		Example: `{"key": "team/rules"}`,
		Related: []string{"memory.search", "memory.list"},
		Run:     tools.Method((*Service).Get),
	}, {
		Name:    "search",
		Legacy:  tools.Was("memory_search"),
		Summary: "Find entries by words in key or value, best first.",
		Words:   "find, query, look for, locate, grep, mention, talk about, full text, content, what do I know about",
		Doc: "Case does not matter, and every character but letters, digits and symbols only separates words. " +
			"Entries with all words come first, then those with some. A key counts more than a value, " +
			"a rare word more than a common one; where whole words find too little, beginnings of words match. " +
			"The first 16 words of the query count.",
		Changed: "Looks into values, and for words instead of a piece of the key; ranks; adds score. " +
			`namespace is absent, not "all", when all were searched.`,
		Required: tools.Fields{query},
		Optional: tools.Fields{namespace, limit.With(tools.Default(10), tools.Max(100))},
		Returns: tools.Fields{
			tools.String{Name: "query", Doc: "As asked."}, namespace, count("count", "How many results follow."),
			tools.List{Name: "results", Doc: "Best first.", Of: hit},
		},
		Effect:  tools.Reads,
		Example: `{"query": "deploy freeze"}`,
		Related: []string{"memory.list", "memory.get"},
		Run:     tools.Method((*Service).Search),
	}, {
		Name:     "list",
		Legacy:   tools.Was("memory_list"),
		Summary:  "List keys, by prefix, page by page.",
		Words:    "browse, enumerate, which keys, names, overview, starting with",
		Changed:  "Sorted. total counts all that match, not those on the page; hasMore is exact; cursor pages.",
		Optional: tools.Fields{namespace, limit.With(tools.Default(100), tools.Max(1000)), prefix, cursor.With(tools.Added())},
		Returns: tools.Fields{
			tools.List{Name: "keys", Doc: "Sorted by namespace and key.", Of: heading},
			count("total", "All that match, on whatever page."), hasMore, nextCursor,
		},
		Effect:  tools.Reads,
		Example: `{"prefix": "team/", "limit": 20}`,
		Related: []string{"memory.search", "memory.stats"},
		Run:     tools.Method((*Service).List),
	}, {
		Name:     "delete",
		Legacy:   tools.Was("memory_delete"),
		Summary:  "Remove the entry of one key.",
		Words:    "forget, erase, drop, throw away, remove one",
		Required: tools.Fields{key},
		Optional: tools.Fields{namespace},
		Returns:  tools.Fields{tools.Bool{Name: "deleted", Doc: "Whether the key existed."}, key, inSpace, message},
		Effect:   tools.Deletes,
		Example:  `{"key": "team/rules"}`,
		Related:  []string{"memory.bulk_delete"},
		Run:      tools.Method((*Service).Delete),
	}, exportAction, importAction, statsAction, bulkDeleteAction, clearAction},
}
