package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// peer is a server under load in its own process.
type peer struct {
	name   string
	cmd    *exec.Cmd
	url    *url.URL // nil on stdio
	stdin  io.Writer
	lines  *bufio.Reader
	modern bool
	id     string // of its session
}

var address = regex.Lazy(`http://\S+/mcp`)

// start starts a server with only the given environment. It initializes a session unless modern is
// set.
func start(ctx context.Context, name string, http, modern bool, environment []string, command ...string) (*peer, error) {
	p := &peer{name: name, modern: modern, cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environment...)
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewReaderSize(out, 1<<20)
	log, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			if u := address().FindString(lines.Text()); u != "" && len(found) == 0 {
				found <- u
			}
		}
	}()
	if http {
		select {
		case u := <-found:
			if p.url, err = url.Parse(u); err != nil {
				return nil, err
			}
		case <-time.After(30 * time.Second):
			return nil, fmt.Errorf("%s does not listen", name)
		}
	}
	if !modern {
		if err := p.initialize(); err != nil {
			return nil, fmt.Errorf("initializing %s: %w", name, err)
		}
	}
	return p, nil
}

func (p *peer) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"bench","version":"1"}}}`

func (p *peer) initialize() error {
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	if p.url == nil {
		if _, err := p.exchange(initialize); err != nil {
			return err
		}
		_, err := io.WriteString(p.stdin, initialized+"\n")
		return err
	}
	for _, body := range []string{initialize, initialized} {
		request, err := http.NewRequest(http.MethodPost, p.url.String(), strings.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		if p.id != "" {
			request.Header.Set("Mcp-Session-Id", p.id)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		response.Body.Close()
		if id := response.Header.Get("Mcp-Session-Id"); id != "" {
			p.id = id
		}
	}
	return nil
}

// request is a message without its id.
type request struct{ method, name, params string }

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// call is a request of tools/call.
func call(name, arguments string) request {
	return request{"tools/call", name, `"name":"` + name + `","arguments":` + arguments}
}

var list = request{method: "tools/list"}

// message returns the request in the form that the peer expects.
func (p *peer) message(r request, id int) string {
	params := r.params
	if p.modern {
		if params != "" {
			params += ","
		}
		params += modernMeta
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, r.method, params)
}

// post returns the message as an HTTP request.
func (p *peer) post(r request, id int) []byte {
	body := p.message(r, id)
	var out bytes.Buffer
	fmt.Fprintf(&out, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n",
		p.url.Host)
	if p.modern {
		fmt.Fprintf(&out, "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\n", r.method)
		if r.name != "" {
			fmt.Fprintf(&out, "Mcp-Name: %s\r\n", r.name)
		}
	} else {
		fmt.Fprintf(&out, "Mcp-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\n", p.id)
	}
	fmt.Fprintf(&out, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return out.Bytes()
}

// exchange sends one message over stdio or HTTP and returns the answer.
func (p *peer) exchange(message string) (string, error) {
	if _, err := io.WriteString(p.stdin, message+"\n"); err != nil {
		return "", err
	}
	return p.lines.ReadString('\n')
}

// ask sends one request and returns the answer.
func (p *peer) ask(r request) (string, error) {
	if p.url == nil {
		return p.exchange(p.message(r, 1))
	}
	conn, err := net.Dial("tcp", p.url.Host)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.Write(p.post(r, 1)); err != nil {
		return "", err
	}
	return answer(bufio.NewReader(conn))
}

// answer reads one HTTP response.
func answer(from *bufio.Reader) (string, error) {
	response, err := http.ReadResponse(from, nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered %s %.200s", response.Status, body)
	}
	return string(body), err
}

// skipAnswer reads one HTTP response and drops it. It takes a fraction of the time of net/http, so
// that mostly the server is measured.
func skipAnswer(from *bufio.Reader) error {
	status, err := from.ReadSlice('\n')
	if err == nil && !bytes.HasPrefix(status, []byte("HTTP/1.1 200")) {
		err = fmt.Errorf("answered %.200s", status)
	}
	length := -1 // chunked
	for err == nil {
		var line []byte
		line, err = from.ReadSlice('\n')
		if len(line) <= 2 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Content-Length")) {
			length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	for err == nil && length < 0 {
		var line []byte
		if line, err = from.ReadSlice('\n'); err != nil {
			break
		}
		size, bad := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
		if _, err = from.Discard(int(size) + len("\r\n")); err == nil && bad != nil {
			err = fmt.Errorf("a chunk begins with %.40q", line)
		}
		if size == 0 {
			return err
		}
	}
	if err == nil {
		_, err = from.Discard(length)
	}
	return err
}

// turn holds the figures of a peer under load.
type turn struct {
	rate float64 // requests per second
	cpu  float64 // seconds of processor time per request
}

// load sends the request repeatedly, with inFlight requests at a time, and counts the answers.
func (p *peer) load(r request, inFlight int, long time.Duration) (turn, error) {
	before, start := p.cpu(), time.Now()
	end := start.Add(long)
	var count atomic.Int64
	var err error
	if p.url == nil {
		err = p.loadStdio(r, inFlight, end, &count)
	} else {
		err = p.loadHTTP(r, inFlight, end, &count)
	}
	n := float64(count.Load())
	return turn{n / time.Since(start).Seconds(), (p.cpu() - before) / n}, err
}

func (p *peer) loadHTTP(r request, inFlight int, end time.Time, count *atomic.Int64) error {
	errs := make(chan error, inFlight)
	for id := range inFlight {
		go func() {
			errs <- func() error {
				conn, err := net.Dial("tcp", p.url.Host)
				if err != nil {
					return err
				}
				defer conn.Close()
				post, answers := p.post(r, id+1), bufio.NewReaderSize(conn, 64<<10)
				for time.Now().Before(end) {
					if _, err := conn.Write(post); err != nil {
						return err
					}
					if err := skipAnswer(answers); err != nil {
						return err
					}
					count.Add(1)
				}
				return nil
			}()
		}()
	}
	var all error
	for range inFlight {
		all = errors.Join(all, <-errs)
	}
	return all
}

func (p *peer) loadStdio(r request, inFlight int, end time.Time, count *atomic.Int64) error {
	free := make(chan struct{}, inFlight)
	var sent atomic.Int64
	var failed error
	done := make(chan struct{})
	var read sync.WaitGroup
	read.Go(func() {
		for {
			if _, err := p.lines.ReadSlice('\n'); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				failed = err
				return
			}
			n := count.Add(1)
			<-free
			select {
			case <-done:
				if n == sent.Load() {
					return
				}
			default:
			}
		}
	})
	out := bufio.NewWriterSize(p.stdin, 16<<10)
	for id := 2; time.Now().Before(end); id++ {
		select {
		case free <- struct{}{}:
		default:
			if err := out.Flush(); err != nil {
				return err
			}
			free <- struct{}{}
		}
		out.WriteString(p.message(r, id))
		out.WriteByte('\n')
		sent.Add(1)
	}
	free <- struct{}{} // the reader waits for the last one
	sent.Add(1)
	close(done)
	out.WriteString(p.message(r, 1))
	out.WriteByte('\n')
	if err := out.Flush(); err != nil {
		return err
	}
	read.Wait()
	return failed
}

// cpu returns the processor time that the process and its ended children have used, in seconds.
func (p *peer) cpu() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ticks := 0.0
	for _, field := range fields[11:15] {
		n, _ := strconv.ParseFloat(field, 64)
		ticks += n
	}
	return ticks / 100
}

// memory returns the resident memory of the process, in megabytes: VmRSS, or
// VmHWM for its peak.
func (p *peer) memory(which string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	for _, line := range strings.Split(string(text), "\n") {
		if value, ok := strings.CutPrefix(line, which+":"); ok {
			kilobytes, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kilobytes / 1024
		}
	}
	return 0
}

// tools returns the peer's list of tools.
func (p *peer) tools() (json.RawMessage, error) {
	answer, err := p.ask(list)
	if err != nil {
		return nil, err
	}
	var message struct {
		Result struct{ Tools json.RawMessage }
	}
	err = json.Unmarshal([]byte(answer), &message)
	return message.Result.Tools, err
}
