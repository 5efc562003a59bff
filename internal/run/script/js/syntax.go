package js

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// SyntaxError is the error of a source that the engine cannot read.
type SyntaxError struct {
	Line, Column int    // from 1
	Code         string // the line of the source
	Message      string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s: %s", e.Line, e.Column, e.Message, e.Code)
}

// Check returns a [SyntaxError] if the engine cannot read a source. It runs nothing, but reads the source
// in a process like that of a program: another error is that of the process.
func Check(source string) error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	_, turn, err := start(ctx, task{Program: Program{Source: source}, OnlyCheck: true})
	if err != nil {
		return fmt.Errorf("checking a script: %w", err)
	}
	if f := turn.End.Failure; f != nil {
		return &SyntaxError{f.Line, f.Column, f.Code, f.Message}
	}
	return nil
}

// Tokens of TypeScript: what may stand where the engine stops reading, and what is found anywhere in its
// line.
var (
	typeToken = regex.Lazy(`^(?:\??\s*:\s*[A-Za-z_$][\w$.]*(?:<[^=;]*>)?(?:\[\])*|` + // of a variable, a parameter or a result
		`(?:as|satisfies)\s+[\w$.]+(?:<[^=;]*>)?(?:\[\])*|<[\w$\s,.\[\]]+>|!)`)
	typeLine     = regex.Lazy(`^\s*(?:export\s+|declare\s+)*(?:interface|type|enum|declare|namespace|abstract)\s+[\w$]+`)
	typeModifier = regex.Lazy(`\b(?:private|public|protected|readonly)\s+$`)
	typeArgument = regex.Lazy(`\bnew\s+[\w$.]+(<[\w$\s,.\[\]]+>)\(`)
	moduleLine   = regex.Lazy(`^\s*(?:import\b[^(]|export\b)`)
)

// typed returns the token of TypeScript where the engine stopped reading a line, or "". column is from 1.
func typed(line string, column int) string {
	runes := []rune(line)
	at := min(max(column-1, 0), len(runes))
	before, after := string(runes[:at]), strings.TrimSpace(string(runes[at:]))
	if strings.HasSuffix(before, "?") { // an optional parameter
		after = "?" + after
	}
	token := typeLine().FindString(line)
	if token == "" && !strings.Contains(before, " ? ") { // no choice between two values
		token = typeToken().FindString(after)
	}
	if token == "" {
		token = typeModifier().FindString(before)
	}
	if m := typeArgument().FindStringSubmatch(line); token == "" && m != nil {
		token = m[1]
	}
	return strings.TrimSpace(token)
}

// clearer returns the message of a syntax error in words for the author of a script, who may have written
// TypeScript or a module.
func clearer(message, line string, column int) string {
	switch token := typed(line, column); {
	case token != "":
		return fmt.Sprintf("types are not accepted, the script must be JavaScript: remove %q", token)
	case moduleLine().MatchString(line):
		return "there are no modules: remove import and export"
	case strings.HasSuffix(message, ": ''"): // the token of the end
		return "the script ends before all brackets are closed"
	}
	return message
}
