package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold/internal/text/words"
)

// maxIndexText limits the words of an entry, in bytes, because PostgreSQL rejects a search vector
// of a megabyte. Words after it are not found.
const maxIndexText = 512 << 10

// Prefixes of words in [IndexText]. Plain words have no prefix.
const (
	keyMark    = "#"  // a word of the key
	strongMark = "##" // a word that the entry is about, see isStrong
	hiddenMark = "@"  // a token for a namespace, a workspace or a tag
)

// IndexText returns the words by which an entry is found, separated by single spaces. First come
// the tokens of its namespace, workspace and tags. Then come the stems of its key and tags and the
// words that it is about, each once with a mark. The stems of key, tags and value follow in order.
// Last come forms without a place in this order: whole compounds, joined hyphenated words, and
// single characters of scripts without spaces. No word is longer than 260 bytes.
func IndexText(e Entry) string {
	t := indexer{seen: map[string]bool{}, counts: map[string]int{}}
	t.add(e.Key)
	for _, tag := range e.Tags {
		t.add(tag)
	}
	ofKey := slices.Concat(t.order, t.extras)
	dec := jsontext.NewDecoder(bytes.NewReader(e.Value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for t.size < maxIndexText {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		switch token.Kind() {
		case '"', '0', 't', 'f':
			t.add(token.String())
		}
	}

	var text strings.Builder
	text.WriteString(namespaceToken(e.Namespace))
	if e.Workspace != "" {
		text.WriteString(" " + workspaceToken(e.Workspace))
	}
	for _, tag := range e.Tags {
		text.WriteString(" " + tagToken(tag))
	}
	write := func(mark, word string) {
		if text.Len()+len(word)+3 <= maxIndexText {
			text.WriteString(" " + mark + word)
		}
	}
	marked := map[string]bool{}
	for _, word := range ofKey {
		if !marked[word] {
			write(keyMark, word)
		}
		marked[word] = true
	}
	clear(marked)
	for _, word := range t.order {
		if !marked[word] && isStrong(t.counts[word], len(t.order)) {
			write(strongMark, word)
		}
		marked[word] = true
	}
	for _, word := range slices.Concat(t.order, t.extras) {
		write("", word)
	}
	return text.String()
}

// isStrong reports whether an entry is about a word, by its count and the words of the entry. For a
// common word, entries about it are read before entries that only mention it. Otherwise the oldest
// entries about it would be dropped from a long list.
func isStrong(count, entryWords int) bool {
	return evidence.Share(float64(count), float64(entryWords), 40) >= 0.62
}

// namespaceToken returns the word for a namespace. With it, a search in a small namespace does not
// visit all entries with a common word.
func namespaceToken(namespace string) string { return hiddenMark + digest(namespace) }

// workspaceToken and tagToken begin with letters that are not hexadecimal, so that they differ from
// the token of a namespace.
func workspaceToken(workspace string) string { return hiddenMark + "w" + digest(workspace) }
func tagToken(tag string) string             { return hiddenMark + "t" + digest(tag) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// indexer collects the stems of an entry.
type indexer struct {
	order  []string
	extras []string // each once
	seen   map[string]bool
	counts map[string]int // of order
	size   int            // bytes collected
}

func (t *indexer) add(text string) {
	ordered := func(word string) {
		t.order = append(t.order, word)
		t.counts[word]++
		t.size += len(word) + 1
	}
	list := slices.Collect(words.Split(text))
	for i, w := range list {
		if t.size >= maxIndexText {
			return
		}
		if w.Hyphened {
			t.extra(words.Stem(list[i-1].Text + w.Text)) // post-mortem is found as postmortem
		}
		switch {
		case w.Joined:
			ordered(list[i-1].Text + w.Text)
			t.extra(w.Text)
		case w.Char && i+1 < len(list) && list[i+1].Joined:
			t.extra(w.Text)
		case w.Parts != nil:
			for _, p := range w.Parts {
				ordered(words.Stem(p))
			}
			t.extra(words.Stem(w.Text))
		default:
			ordered(words.Stem(w.Text))
		}
	}
}

func (t *indexer) extra(word string) {
	if !t.seen[word] {
		t.seen[word] = true
		t.extras = append(t.extras, word)
		t.size += len(word) + 1
	}
}
