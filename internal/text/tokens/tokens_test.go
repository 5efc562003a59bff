package tokens

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/dlclark/regexp2/v2"
	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/toolfold/toolfold/internal/test/golden"
)

// other is another implementation of the tokenizer.
var other = sync.OnceValue(codec.NewO200kBase)

// The counts are documented by OpenAI for o200k_base.
func TestCount(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for text, want := range map[string]int{
		"": 0, "hello world": 2, "お誕生日おめでとう": 8, "antidisestablishmentarianism": 6, "2 + 2 = 4": 7,
	} {
		wg.Go(func() {
			if got, err := Count(text); err != nil || got != want {
				t.Errorf("%q has %d tokens (%v), want %d", text, got, err, want)
			}
		})
	}
	wg.Wait()
}

// The vocabulary equals the other library's.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	var lengths []byte
	var text strings.Builder
	for rank := range uint(size) {
		token, err := other().Decode([]uint{rank})
		if err != nil {
			t.Fatal(err)
		}
		lengths = binary.AppendUvarint(lengths, uint64(len(token)))
		text.WriteString(token)
	}
	if golden.Updating() {
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, flate.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(lengths)
		_, _ = w.Write([]byte(text.String()))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("o200k_base.flate", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	ranks, err := vocabulary.get()
	if err != nil {
		t.Fatal(err)
	}
	rest := text.String()
	for rank := range uint32(size) {
		length, n := binary.Uvarint(lengths)
		token := rest[:length]
		if got, _, ok := ranks.find(token); !ok || got != rank {
			t.Fatalf("%q has the rank %d, %t, want %d", token, got, ok, rank)
		}
		lengths, rest = lengths[n:], rest[length:]
	}
}

// Random texts of characters of every kind, as they meet in pieces, are split like the expression,
// and counted like the other library.
func TestCountsAlike(t *testing.T) {
	t.Parallel()
	alphabet := []string{"a", "b", "z", "A", "B", "É", "é", "ǅ", "ʰ", "漢", "字", "\u0301", "\u0903", "1", "٣", "Ⅷ",
		" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2028", "\u3000", "\v", "\u0085", "'", "'s", "'S", "'RE", "'ll", "'ſ", "/", ".", "-", "{\"",
		"😀", "\u200d", "\ue000", "\x00",
		"\u180e", "\u200b", "the", " The", "HTTP", "json", "K", "\xff", "\U000e0101", "İ", "ß"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range 1 + random.IntN(14) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		alike(t, b.String())
	}
	for _, text := range []string{"a", "漢字", "ab\u0301", " ", "=-"} {
		alike(t, strings.Repeat(text, 2000))
	}
}

// Any text is counted like the other library.
func FuzzCount(f *testing.F) {
	f.Add("It's 12345 o'clock,\r\n\tHTTPServer/2.0 {\"é\": [1.5e-7]}  \u3000")
	f.Fuzz(alike)
}

// expression matches a piece. The other library does not use it: its code ends a piece of several
// line breaks at the first one, if there is space between them.
var expression = regexp2.MustCompile(`(?:`+
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?`+
	`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?`+
	`|\p{N}{1,3}`+
	`| ?[^\s\p{L}\p{N}]+[\r\n/]*`+
	`|\s*[\r\n]+`+
	`|\s+(?!\S)`+
	`|\s+`+
	`)`, regexp2.None)

func alike(t *testing.T, text string) {
	got, err := Count(text)
	if err != nil {
		t.Fatal(err)
	}
	whole, want := string([]rune(text)), 0
	match, err := expression.FindStringMatch(whole)
	for ; match != nil; match, err = expression.FindNextMatch(match) {
		piece := match.String()
		if n := pieceEnd(whole); whole[:n] != piece {
			t.Fatalf("%q begins with the piece %q, want %q", whole, whole[:n], piece)
		}
		whole = whole[len(piece):]
		n, err := other().Count(piece)
		if strings.ContainsAny(strings.TrimRight(piece, "\r\n"), "\r\n") {
			n, err = Count(piece)
		}
		if err != nil {
			t.Fatal(err)
		}
		want += n
	}
	if err != nil || whole != "" || got != want {
		t.Errorf("%q has %d tokens, the other library counts %d; %q is left, %v", text, got, want, whole, err)
	}
}

// BenchmarkCount counts a page of JSON.
func BenchmarkCount(b *testing.B) {
	text := strings.Repeat(`{"name":"memory","description":"Notes that stay: store(key,value) get(key|keys)","inputSchema":{}}`, 400)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Count(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUnpack unpacks the vocabulary.
func BenchmarkUnpack(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := unpack(); err != nil {
			b.Fatal(err)
		}
	}
}

// A count after releasing the vocabulary equals one before.
func TestRelease(t *testing.T) {
	t.Parallel()
	const text = "counted before and after"
	before, err := Count(text)
	if err != nil {
		t.Fatal(err)
	}
	Release()
	if after, err := Count(text); err != nil || after != before {
		t.Errorf("%d tokens, %v, and %d before", after, err, before)
	}
}
