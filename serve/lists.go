package serve

import (
	"bytes"
	"sync"
)

const (
	maxLists    = 64      // answers kept
	maxListKey  = 8 << 10 // bytes of a request whose answer is kept
	answerStart = `{"jsonrpc":"2.0","id":`
)

// lists keeps answers of mcp-go to tools/list, each under everything that it
// follows from: the headers, and the request but for its id. A client that asks
// the same again is answered with the same bytes and its own id. What the list
// of a session holds beyond that of all others is not kept.
type lists struct {
	mu         sync.Mutex
	generation int // counts the changes of the catalogue
	answers    map[string]keptList
}

// keptList is an answer without its beginning and id.
type keptList struct {
	rest   []byte
	tokens int // of the tools in it, estimated
}

// key returns the cache key of the answer: rest, and the message without its id.
// It returns nil when the answer is not kept.
func (m message) key(rest ...string) []byte {
	if len(m.raw) > maxListKey || !m.hasID() {
		return nil
	}
	var key []byte
	for _, part := range rest {
		key = append(append(key, part...), 0)
	}
	return append(append(key, m.raw[:m.id.start]...), m.raw[m.id.end:]...)
}

// answer returns the kept answer to m, nil when there is none; generation is to
// be given to keep. tokens are those of the tools in it.
func (l *lists) answer(m message, key []byte) (answer []byte, tokens, generation int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept, ok := l.answers[string(key)]
	if !ok {
		return nil, 0, l.generation
	}
	id := m.text(m.id)
	answer = make([]byte, 0, len(answerStart)+len(id)+len(kept.rest))
	return append(append(append(answer, answerStart...), id...), kept.rest...), kept.tokens, l.generation
}

// keep keeps what mcp-go answered to m, unless the catalogue has changed since
// the generation in which it was asked. Errors are not kept.
func (l *lists) keep(m message, key, answer []byte, tokens, generation int) {
	rest, ok := bytes.CutPrefix(answer, append([]byte(answerStart), m.text(m.id)...))
	if !ok || !bytes.HasPrefix(rest, []byte(`,"result":`)) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if generation != l.generation {
		return
	}
	if len(l.answers) >= maxLists {
		clear(l.answers)
	}
	if l.answers == nil {
		l.answers = map[string]keptList{}
	}
	l.answers[string(key)] = keptList{bytes.Clone(rest), tokens}
}

// forget drops all answers: the catalogue has changed.
func (l *lists) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation++
	clear(l.answers)
}
