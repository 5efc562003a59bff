package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/internal/system/child"
)

// program is a started server, as both transport and connection of the library.
type program struct {
	gate     *gate
	stdin    *os.File
	stdout   *os.File
	turn     chan struct{} // holds one element while a message is written
	incoming chan jsonrpc.Message
	ended    chan struct{} // closed after the last message
	closed   chan struct{}
	once     sync.Once
}

// start starts a program. The returned function ends it and returns its error, or nil if the program
// ended well or had to be stopped.
func start(ctx context.Context, cancel func(), s Server, g *gate, memory *Memory, stderr io.Writer) (mcp.Transport, func() error, error) {
	if err := s.Check(); err != nil {
		return nil, nil, err
	}
	stdinR, stdinW, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	stdoutR, stdoutW, err := os.Pipe()
	if err != nil {
		stdinR.Close()
		stdinW.Close()
		return nil, nil, err
	}
	env := s.Env
	if !s.EnvOnly {
		env = append(os.Environ(), s.Env...)
	}
	done := make(chan error, 1)
	go func() {
		err := child.Run(ctx, child.Command{
			Argv: s.Argv, Dir: s.Dir, Env: env, Stdin: stdinR, Stdout: stdoutW, Stderr: stderr,
			Started: func(pid int) { g.pid.Store(int64(pid)) },
		})
		stdinR.Close()
		stdoutW.Close()
		done <- err
	}()
	wait := func() error {
		stdinW.Close()
		defer stdoutR.Close()
		select {
		case err := <-done:
			return err
		case <-time.After(grace):
			cancel()
			<-done
			return nil
		}
	}
	p := &program{
		gate: g, stdin: stdinW, stdout: stdoutR, turn: make(chan struct{}, 1),
		incoming: make(chan jsonrpc.Message), ended: make(chan struct{}), closed: make(chan struct{}),
	}
	g.answer, g.inject = p.Write, p.pass
	go p.read(memory)
	return p, wait, nil
}

// Check reports errors in the command and folder of a server that the system's own errors do not
// explain. A server at a URL has neither.
func (s Server) Check() error {
	if s.Argv == nil {
		return nil
	}
	if s.Dir != "" {
		if info, err := os.Stat(s.Dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return fmt.Errorf("it does not start: its folder %s does not exist, correct cwd", s.Dir)
		}
	}
	command := s.Argv[0]
	if !strings.ContainsAny(command, " \t~$") {
		return nil
	}
	if _, err := exec.LookPath(command); err == nil {
		return nil
	}
	first, _, _ := strings.Cut(command, " ")
	switch {
	case strings.HasPrefix(command, "~"), strings.Contains(command, "$"):
		return fmt.Errorf("it does not start: there is no program %q, and no shell reads ~ or $NAME in it: "+
			"write the whole path, or ${NAME} for a variable", command)
	case strings.ContainsAny(first, `/\`): // a path may have blanks
		return fmt.Errorf("it does not start: there is no program %q", command)
	}
	return fmt.Errorf("it does not start: there is no program %q: write %q as command, and each further word as one of args", command, first)
}

// Connect implements [mcp.Transport].
func (p *program) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID implements [mcp.Connection].
func (p *program) SessionID() string { return "" }

// read reads the program's standard output to its end.
func (p *program) read(memory *Memory) {
	defer close(p.ended)
	limit := p.gate.limit()
	lines := bufio.NewReaderSize(p.stdout, 64<<10)
	texts := p.gate.texts(limit, nil, p.pass)
	u := &unit{memory: memory, limit: limit}
	for {
		if u.line(lines) != nil {
			texts.end()
			return
		}
		if u.fault != nil {
			texts.end()
			p.gate.oversize(u, p.pass)
			u.take()
			continue
		}
		texts.line(u.take())
	}
}

// pass passes a message to the library.
func (p *program) pass(m jsonrpc.Message) {
	select {
	case p.incoming <- m:
	case <-p.ended:
	case <-p.closed:
	}
}

// Read implements [mcp.Connection].
func (p *program) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-p.incoming:
		return m, nil
	case <-p.ended:
		return nil, io.EOF
	case <-p.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [mcp.Connection]. If the context ends in the middle of a message, another goroutine
// writes the rest before any other message.
func (p *program) Write(ctx context.Context, message jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(p.gate.onSend(message))
	if err != nil {
		return err
	}
	line = append(line, '\n')
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed:
		return io.EOF
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = p.stdin.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	n, err := p.stdin.Write(line)
	if stop() {
		<-p.turn
		return err
	}
	<-interrupted
	_ = p.stdin.SetWriteDeadline(time.Time{})
	if n == 0 || n == len(line) || !errors.Is(err, os.ErrDeadlineExceeded) {
		<-p.turn
		return ctx.Err()
	}
	go func() {
		_, _ = p.stdin.Write(line[n:]) // if this fails, the next message fails too
		<-p.turn
	}()
	return ctx.Err()
}

// Close implements [mcp.Connection].
func (p *program) Close() error {
	p.once.Do(func() {
		close(p.closed)
		_ = p.stdin.Close()
	})
	return nil
}
