package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// jsonFuncs lists the functions that read or write JSON, by file.
var jsonFuncs = map[string][]string{
	"encoding/json/decode.go": {"func Unmarshal("},
	"encoding/json/stream.go": {"func (dec *Decoder) Decode(", "func (enc *Encoder) Encode("},
	"encoding/json/encode.go": {"func Marshal("},
}

// Reading and writing JSON is most of the cost of a call, and each pass over the arguments could change
// them. For one memory.store on stdio, our code makes at most three decodings and two encodings, in
// addition to the protocol library's. The test builds toolfold with a JSON package that reports
// its callers, which takes a minute. It runs only if TOOLFOLD_COUNT_JSON is set, as in the nightly run.
func TestJSONPassesOfACall(t *testing.T) {
	if os.Getenv("TOOLFOLD_COUNT_JSON") == "" {
		t.Skip("set TOOLFOLD_COUNT_JSON=1 to build toolfold with a JSON package that counts")
	}
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "counting")
	build := exec.Command("go", "build", "-buildvcs=false", "-overlay", overlay(t, dir), "-o", binary, mainPackage)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const store = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"memory","arguments":` +
		`{"action":"store","key":"team/rules","value":{"freeze":"Friday"}}}}`
	// Each message is sent after the previous answer, so that all calls except the first use the cached
	// verdict of mcp-go.
	count := func(stores int) map[string]int {
		run := exec.Command(binary, "serve", "--worker=false", "--store", "memory:", "--workspace", dir)
		run.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
		var report bytes.Buffer
		run.Stderr = &report
		in, err := run.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := run.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		answers := bufio.NewReader(out)
		ask := func(message, want string) {
			if _, err := io.WriteString(in, message+"\n"); err != nil {
				t.Error(err)
			}
			if answer, err := answers.ReadString('\n'); err != nil || !strings.Contains(answer, want) {
				t.Errorf("%v: %s", err, answer)
			}
		}
		ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},`+
			`"clientInfo":{"name":"t","version":"1"}}}`, "serverInfo")
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		for i := range stores {
			ask(fmt.Sprintf(store, i+2), "success")
		}
		in.Close()
		if err := run.Wait(); err != nil || t.Failed() {
			t.Fatalf("%v\n%s", err, report.String())
		}
		passes := map[string]int{}
		for _, line := range strings.Split(report.String(), "\n") {
			if pass, ours := strings.CutPrefix(line, "JSON "); ours {
				passes[pass]++
			}
		}
		return passes
	}
	// The difference of two runs is the cost of the calls between them.
	few, many := count(2), count(12)
	decodes, encodes := 2.0, 0.0 // arguments and memory's index are read with jsontext, which cannot be overlaid
	for pass, n := range many {
		each := float64(n-few[pass]) / 10
		if each == 0 {
			continue
		}
		t.Logf("%4.1f %s", each, pass)
		switch {
		case !strings.Contains(pass, "toolfold/"):
		case strings.Contains(pass, "storage.traceStore"): // spans, in the background: neither arguments nor results
		case strings.HasPrefix(pass, "Unmarshal") || strings.HasPrefix(pass, "Decode"):
			decodes += each
		default:
			encodes += each
		}
	}
	if decodes > 3 || encodes > 2 || encodes == 0 {
		t.Errorf("a store costs %.1f decodings and %.1f encodings of ours, want at most 3 and 2", decodes, encodes)
	}
}

// overlay writes a JSON package that reports its callers on standard error, as "JSON Unmarshal
// file:function". It returns the path of the overlay file.
func overlay(t *testing.T, dir string) string {
	t.Helper()
	list := func(pkg string) string {
		out, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	replace := map[string]string{}
	instrument := func(source string, funcs []string) {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range funcs {
			at := bytes.Index(text, []byte("\n"+name))
			if at < 0 {
				t.Fatalf("%s has no %s", source, name)
			}
			open := at + bytes.Index(text[at:], []byte("{\n"))
			verb := regexp.MustCompile(`(\w+)\($`).FindStringSubmatch(name)[1]
			text = append(text[:open+2:open+2], append([]byte("\treportPass(\""+verb+"\")\n"), text[open+2:]...)...)
		}
		copied := filepath.Join(dir, strings.ReplaceAll(filepath.Base(source), ".go", "_counted.go"))
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[source] = copied
	}
	std := list("encoding/json")
	for file, funcs := range jsonFuncs {
		instrument(filepath.Join(std, filepath.Base(file)), funcs)
	}
	reporter := filepath.Join(dir, "report.go")
	if err := os.WriteFile(reporter, []byte(reportPass), 0o600); err != nil {
		t.Fatal(err)
	}
	replace[filepath.Join(std, "report_pass.go")] = reporter
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// reportPass reports the first caller outside of the JSON package and internal/text/ordered. A pass
// within a pass, such as in a MarshalJSON method, is not counted separately.
const reportPass = `package json

import (
	"os"
	"runtime"
	"strings"
)

func reportPass(verb string) {
	var pcs [40]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	first := ""
	for {
		frame, more := frames.Next()
		inside := strings.HasPrefix(frame.Function, "encoding/json.")
		if inside && first != "" {
			return
		}
		if !inside && first == "" && !strings.Contains(frame.Function, "/internal/text/ordered.") {
			first = frame.Function
		}
		if !more {
			break
		}
	}
	os.Stderr.WriteString("JSON " + verb + " " + first + "\n")
}
`
