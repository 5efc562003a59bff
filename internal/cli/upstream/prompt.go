package upstream

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// canAsk reports whether standard input is a terminal.
func canAsk() bool { return term.IsTerminal(int(os.Stdin.Fd())) }

// agrees asks a question on the terminal. Only y and yes mean yes.
func agrees(c *cli.Context, question string) bool {
	answer, err := askLine(c, question+" [y/N] ")
	answer = strings.ToLower(answer)
	return err == nil && (answer == "y" || answer == "yes")
}

// askLine reads a line from the terminal, without surrounding blanks.
func askLine(c *cli.Context, question string) (string, error) {
	fmt.Fprint(c.App.ErrWriter, question)
	line, err := stdinLine()
	if err != nil && (err != io.EOF || line == "") {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// stdinLine reads exactly one line, so that the next question gets the next line.
func stdinLine() (string, error) {
	return bufio.NewReaderSize(oneByte{os.Stdin}, 16).ReadString('\n')
}

// oneByte reads one byte at a time.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

// askSecret reads a line from the terminal without echo.
func askSecret(c *cli.Context, question string) (string, error) {
	fmt.Fprint(c.App.ErrWriter, question)
	secret, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(c.App.ErrWriter)
	if err != nil {
		return "", fmt.Errorf("reading the secret: %w", err)
	}
	return string(secret), nil
}
