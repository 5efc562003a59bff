package tokens

import (
	"compress/flate"
	"container/heap"
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"strings"
	"sync"
)

// packed is the o200k_base vocabulary as published by OpenAI, deflated: by rank the length of each
// token as a varint, then the bytes of all tokens. TestVocabulary writes it, and compares it with
// another library's.
//
//go:embed o200k_base.flate
var packed string

// size is the number of ordinary tokens; special tokens have higher ranks.
const size = 199_998

// vocab maps tokens to ranks. It is half as large as a Go map, and fills five times as fast.
type vocab struct {
	text  string   // of all tokens, concatenated
	ends  []uint32 // end of each token in text, by rank
	slots []uint32 // hash table with linear probing: rank plus one; 0 is free
	seed  maphash.Seed
}

// vocabulary is shared by all counts.
var vocabulary cache

// cache holds a vocabulary once it is unpacked.
type cache struct {
	mu    sync.Mutex
	vocab *vocab // nil = not unpacked
}

func (c *cache) get() (*vocab, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.vocab != nil {
		return c.vocab, nil
	}
	v, err := unpack()
	c.vocab = v
	return v, err
}

// Release frees the vocabulary's memory. The next count unpacks it again.
func Release() {
	vocabulary.mu.Lock()
	defer vocabulary.mu.Unlock()
	vocabulary.vocab = nil
}

func unpack() (*vocab, error) {
	all, err := io.ReadAll(flate.NewReader(strings.NewReader(packed)))
	if err != nil {
		return nil, fmt.Errorf("unpacking the vocabulary: %w", err)
	}
	v := &vocab{ends: make([]uint32, size), slots: make([]uint32, 1<<19), seed: maphash.MakeSeed()}
	at, end := 0, uint32(0)
	for rank := range v.ends {
		length, n := binary.Uvarint(all[at:])
		at, end = at+n, end+uint32(length)
		v.ends[rank] = end
	}
	v.text = string(all[at:])
	for rank := range v.ends {
		_, slot, _ := v.find(v.token(uint32(rank)))
		v.slots[slot] = uint32(rank) + 1
	}
	return v, nil
}

// token returns the token with a rank.
func (v *vocab) token(rank uint32) string {
	start := uint32(0)
	if rank > 0 {
		start = v.ends[rank-1]
	}
	return v.text[start:v.ends[rank]]
}

// find returns the rank of a token and its slot. If it is not a token, the slot is the one for
// inserting it.
func (v *vocab) find(token string) (rank uint32, slot int, ok bool) {
	mask := len(v.slots) - 1
	for slot = int(maphash.String(v.seed, token)) & mask; v.slots[slot] != 0; slot = (slot + 1) & mask {
		if rank = v.slots[slot] - 1; v.token(rank) == token {
			return rank, slot, true
		}
	}
	return 0, slot, false
}

// count counts the tokens of a piece. Starting with single bytes, it merges the two neighbours
// whose union has the lowest rank, until no union is a token. It takes O(n log n) time for n bytes.
func (v *vocab) count(piece string) int {
	if _, _, ok := v.find(piece); ok {
		return 1
	}
	n := len(piece)
	next, previous := make([]int, n+1), make([]int, n+1) // starts of a part's neighbours
	for i := range next {
		next[i], previous[i] = i+1, i-1
	}
	var unions unionHeap
	offer := func(i int) {
		if i >= 0 && next[i] < n {
			if end := next[next[i]]; end <= n {
				if rank, _, ok := v.find(piece[i:end]); ok {
					heap.Push(&unions, union{rank, i, end})
				}
			}
		}
	}
	for i := range n {
		offer(i)
	}
	parts, gone := n, make([]bool, n+1)
	for len(unions) > 0 {
		u := heap.Pop(&unions).(union)
		if gone[u.start] || next[u.start] >= n || next[next[u.start]] != u.end {
			continue // one of the two was merged meanwhile
		}
		gone[next[u.start]] = true
		next[u.start], previous[u.end] = u.end, u.start
		parts--
		offer(u.start)
		offer(previous[u.start])
	}
	return parts
}

// union is the token that two neighbours would form.
type union struct {
	rank       uint32
	start, end int
}

// unionHeap orders unions by rank, then from left to right.
type unionHeap []union

func (h unionHeap) Len() int { return len(h) }
func (h unionHeap) Less(i, j int) bool {
	return h[i].rank < h[j].rank || h[i].rank == h[j].rank && h[i].start < h[j].start
}
func (h unionHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *unionHeap) Push(u any)   { *h = append(*h, u.(union)) }
func (h *unionHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
