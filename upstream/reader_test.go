package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// readerResult holds the parts that a reader found in a text.
type readerResult struct{ messages, broken, other []string }

func (s *readerResult) texts(limit int64) *texts {
	return &texts{
		limit:   limit,
		message: func(text []byte) { s.messages = append(s.messages, string(compact(text))) },
		broken:  func(_ []byte, id string) { s.broken = append(s.broken, id) },
		long:    func(_ int64, id string) { s.broken = append(s.broken, id) },
		other:   func(text []byte) { s.other = append(s.other, string(text)) },
	}
}

// readLines reads a text like the standard output of a program.
func readLines(text string, limit int64) (s readerResult) {
	t := s.texts(limit)
	lines := bufio.NewReaderSize(strings.NewReader(text), 64)
	for u := (&unit{limit: limit}); u.line(lines) == nil; {
		if u.fault != nil {
			s.broken = append(s.broken, u.shape.id)
			u.take()
			continue
		}
		t.line(u.take())
	}
	t.end()
	return s
}

const (
	one = `{"jsonrpc":"2.0","id":1,"result":{"a":"x"}}`
	two = `{"result":{"b":[1,{"c":"}"}]},"jsonrpc":"2.0","id":"2"}`
)

func TestTexts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text                    string
		messages, broken, other []string
	}{
		"one a line":       {one + "\n" + two + "\r\n", []string{one, two}, nil, nil},
		"no line break":    {one, []string{one}, nil, nil},
		"two on a line":    {one + two + "\n", []string{one, two}, nil, nil},
		"text between":     {one + " and " + two + "\n", []string{one, two}, nil, []string{"and"}},
		"byte order mark":  {"\ufeff" + one + "\n", []string{one}, nil, nil},
		"text before":      {"Loading… " + one + "\n", []string{one}, nil, []string{"Loading…"}},
		"spinner":          {"\rLoading 10%\rLoading 100%\r" + one + "\n", []string{one}, nil, []string{"Loading 10%\rLoading 100%"}},
		"object before":    {`{ level: 'info' } ` + one + "\n", []string{one}, nil, []string{"{ level: 'info' }"}},
		"log in JSON":      {`{"level":30,"msg":"{"}` + "\n" + one + "\n", []string{one}, nil, []string{`{"level":30,"msg":"{"}`}},
		"indented":         {"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\n\t\"a\": \"x\" }\n}\n", []string{one}, nil, nil},
		"end on next line": {strings.TrimSuffix(one, "}") + "\n}" + two + "\n", []string{one, two}, nil, nil},
		"list":             {"[" + one + "," + two + "]\n", []string{"[" + one + "," + two + "]"}, nil, nil},
		"log with bracket": {"[INFO] ready\n[1,2]\n" + one, []string{one}, nil, []string{"[INFO] ready", "[1,2]"}},
		"unfinished":       {"{\n" + one + "\n", []string{one}, nil, []string{"{\n"}},
		"unfinished log":   {"{\"level\": \"info\",\nready\n" + one + "\n", []string{one}, nil, []string{"{\"level\": \"info\",\nready\n"}},
		"unfinished reply": {`{"jsonrpc":"2.0","id":7,"result":{"x":[` + "\n" + one + "\n", []string{one}, []string{"7"}, nil},
		"never finished":   {`{"jsonrpc":"2.0","result":{},"id":7` + "\n", nil, []string{"7"}, nil},
		"no number":        {`{"jsonrpc":"2.0","id":3,"result":{"v":NaN}}` + "\n" + one + "\n", []string{one}, []string{"3"}, nil},
		"id last":          {`{"result":{"id":9,"v":Infinity},"jsonrpc":"2.0","id":"4"}` + "\n", nil, []string{`"4"`}, nil},
		"line break in it": {"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"v\":\"a\nb\"}}\n" + one, []string{one}, []string{"5"}, nil},
		"too deep": {
			`{"jsonrpc":"2.0","id":6,"result":` + strings.Repeat(`{"a":`, 11_000) + "1" + strings.Repeat("}", 11_001),
			nil, []string{"6"}, nil,
		},
		"no id": {`{"jsonrpc":"2.0","error":nil}`, nil, []string{""}, nil},
		"too long": {
			`{"jsonrpc":"2.0","id":8,"result":"` + strings.Repeat("x", 200_000) + "\"}\n" + one + "\n",
			[]string{one}, []string{"8"}, nil,
		},
		"too long, id last": {`{"result":"` + strings.Repeat(`\"}`, 70_000) + `","jsonrpc":"2.0","id":8}` + "\n" + one + "\n",
			[]string{one}, []string{"8"}, nil},
		"too long over lines": {"{\n\"jsonrpc\":\"2.0\",\"id\":8,\"result\":[\n" + strings.Repeat("1,\n", 70_000) + "1]}\n" + one + "\n",
			[]string{one}, []string{"8"}, nil},
		"too long over lines, id last": {
			"{\n\"result\":[\n" + strings.Repeat("1,\n", 70_000) + "1],\"jsonrpc\":\"2.0\",\"id\":8}" + two + "\n" + one + "\n",
			[]string{two, one}, []string{"8"}, nil,
		},
		"nothing": {"\n \n\t\r\n", nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := readLines(test.text, 100_000)
			if !slices.Equal(got.messages, test.messages) || !slices.Equal(got.broken, test.broken) {
				t.Errorf("%.200q: messages %.300q, broken %q; want %q, %q", test.text, got.messages, got.broken, test.messages, test.broken)
			}
			if test.other != nil && !slices.Equal(got.other, test.other) {
				t.Errorf("%.200q: other text %q, want %q", test.text, got.other, test.other)
			}
		})
	}
}

// A body or the data of an event is read as a whole first. A line in it that looks like a message is
// not one.
func TestBodyIsOneMessage(t *testing.T) {
	t.Parallel()
	var s readerResult
	s.texts(1000).whole([]byte("\ufeff{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\n" + two + "\n}}\n"))
	if want := []string{`{"jsonrpc":"2.0","id":1,"result":{"x":` + two + `}}`}; !slices.Equal(s.messages, want) || s.other != nil {
		t.Errorf("%q", s)
	}
}

// After any text, the next line that is a whole message is read. Messages contain no line ends.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{
		"{", "{\"a\":[", one, one + two, "{\n\"id\": 1", `{"jsonrpc":"2.0","id":3,"result":NaN}`, "\ufeff", "[", `"`, "{'", "x{y}z",
	} {
		f.Add(text, uint16(300))
	}
	f.Fuzz(func(t *testing.T, text string, limit uint16) {
		const alone = `{"jsonrpc":"2.0","id":77,"result":{"only":"one"}}`
		bound := int64(limit) + int64(len(alone))
		got := readLines(text+"\n"+alone+"\n", bound)
		if n := len(got.messages); n == 0 || got.messages[n-1] != alone {
			t.Errorf("%q: the last message is not read: %q", text, got)
		}
		for _, m := range got.messages {
			if strings.ContainsAny(m, "\n\r") {
				t.Errorf("%q: %q has more than one line", text, m)
			}
		}
		var whole readerResult
		whole.texts(bound).whole([]byte(text))
	})
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]int64{"1": 1, `"1"`: 1, "1.0": 1, "-3": -3, "1e2": 100} {
		if got, ok := number(id); !ok || got != want {
			t.Errorf("%s: %d, %t", id, got, ok)
		}
	}
	for _, id := range []string{"", "null", "1.5", `"x"`, `""`, "1e30", "{}", "NaN", "Inf", `"1`, "9007199254740993000"} {
		if got, ok := number(id); ok {
			t.Errorf("%s is %d", id, got)
		}
	}
}

// A call waits for memory, and fails if it gets none. Released memory can be used again.
func TestMemory(t *testing.T) {
	t.Parallel()
	m := NewMemory(1 << 20)
	text, err := m.Read(io.LimitReader(zeros{}, 1<<20), 1<<20)
	if err != nil || len(text) != 1<<20 {
		t.Fatal(len(text), err)
	}
	u := &unit{memory: m, limit: 4 << 20}
	go func() {
		m.release(1 << 20)
	}()
	if _, err := u.Write(make([]byte, 300<<10)); err != nil || u.fault != nil {
		t.Errorf("there is room after a release: %v, %v", err, u.fault)
	}
	full := bytes.NewReader(make([]byte, 2<<20))
	if _, err := m.Read(full, 2<<20); !errors.Is(err, ErrNoMemory) || full.Len() != 0 {
		t.Errorf("%v, %d bytes are left", err, full.Len())
	}
	fmt.Fprint(io.Discard, text[0]) // keeps text reachable until here
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
