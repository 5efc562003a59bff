//go:build unix

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeCommands runs the commands that the README shows, in their order,
// on one machine. Those that serve until they are stopped are left out; their
// flags are held by the help texts.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	m, ran := newMachine(t), 0
	m.write(t, m.workspace+"/.toolfold/agents/a.yaml", "agentId: a\ndescription: Answers.\n")
	lasting := regexp.MustCompile(`^toolfold (serve|worker)\b`)
	for line := range strings.Lines(string(readme)) {
		command, _, _ := strings.Cut(line, "   ") // what it does stands in a second column
		command = strings.TrimSpace(command)
		if !strings.HasPrefix(command, "toolfold ") || lasting.MatchString(command) {
			continue
		}
		ran++
		args := shellWords(strings.TrimPrefix(command, "toolfold "))
		if out, err := m.command(t, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	if ran < 10 {
		t.Errorf("only %d commands were found", ran)
	}
}

// shellWords splits a command line of words and single-quoted texts.
func shellWords(line string) (words []string) {
	for _, word := range regexp.MustCompile(`(?:[^\s']|'[^']*')+`).FindAllString(line, -1) {
		words = append(words, strings.ReplaceAll(word, "'", ""))
	}
	return words
}
