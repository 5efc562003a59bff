package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// maxIndexText is how much of an entry's words is indexed: PostgreSQL refuses
// a search vector of a megabyte. Some 80,000 different words fit; what comes
// later in the value is not found.
const maxIndexText = 512 << 10

// Marks of words in [IndexText] that are not plain. Plain words have neither.
const (
	keyMark       = "#"
	namespaceMark = "@"
)

// IndexText returns the words under which an entry is found, each once,
// separated by single spaces: its namespace's token, the words of its key
// with a mark, then the words of key and value. No word is longer than 260
// bytes.
func IndexText(e Entry) string {
	var w wordList
	w.add(namespaceToken(e.Namespace))
	for word := range indexed(e.Key) {
		w.add(keyMark + word)
	}
	w.addAll(e.Key)
	w.addJSON(e.Value)
	return w.text.String()
}

// namespaceToken stands for a namespace among the words, so that a search in
// a small namespace does not walk through all entries with a common word.
func namespaceToken(namespace string) string {
	sum := sha256.Sum256([]byte(namespace))
	return namespaceMark + hex.EncodeToString(sum[:16])
}

// wordList gathers words without duplicates.
type wordList struct {
	seen map[string]struct{}
	text strings.Builder
}

func (w *wordList) add(word string) {
	if _, ok := w.seen[word]; ok || w.text.Len()+len(word) >= maxIndexText {
		return
	}
	if w.seen == nil {
		w.seen = map[string]struct{}{}
	}
	w.seen[word] = struct{}{}
	if w.text.Len() > 0 {
		w.text.WriteByte(' ')
	}
	w.text.WriteString(word)
}

func (w *wordList) addAll(text string) {
	for word := range indexed(text) {
		w.add(word)
	}
}

// addJSON adds the words of every name and scalar in a JSON value. Null has
// no words.
func (w *wordList) addJSON(value json.RawMessage) {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return
		}
		switch t := token.(type) {
		case string:
			w.addAll(t)
		case json.Number:
			w.addAll(t.String())
		case bool:
			w.add(map[bool]string{true: "true", false: "false"}[t])
		}
	}
}
