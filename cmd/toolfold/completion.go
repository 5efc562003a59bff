package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/cmd/toolfold/internal/app"
)

// scripts are printed by the command completion. Each asks the command itself, with the
// words before the cursor, and with the word at the cursor where that is a
// flag. What toolfold prints depends on the shell it believes to be in.
var scripts = map[string]string{
	"bash": `_toolfold() {
  local cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
  [[ $cur == -* ]] && words+=("$cur")
  COMPREPLY=($(compgen -W "$(SHELL=bash toolfold "${words[@]}" ` + completing + ` 2>/dev/null)" -- "$cur"))
}
complete -o default -F _toolfold toolfold
`,
	"zsh": `#compdef toolfold
_toolfold() {
  local -a words_before=("${(@)words[2,CURRENT-1]}") found
  [[ $words[CURRENT] == -* ]] && words_before+=("$words[CURRENT]")
  found=("${(@f)$(SHELL=zsh toolfold $words_before ` + completing + ` 2>/dev/null)}")
  if [[ -n $found ]]; then _describe toolfold found; else _files; fi
}
compdef _toolfold toolfold
`,
	"fish": `complete -c toolfold -f -a '(begin
  set -l words (commandline -opc)[2..]
  string match -q -- "-*" (commandline -ct); and set -a words (commandline -ct)
  SHELL=fish toolfold $words ` + completing + ` 2>/dev/null
end)'
`,
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for bash, zsh or fish",
		ArgsUsage: "SHELL",
		Description: "bash:  toolfold completion bash >~/.local/share/bash-completion/completions/toolfold\n" +
			"zsh:   toolfold completion zsh >DIRECTORY/_toolfold, a directory of $fpath\n" +
			"fish:  toolfold completion fish >~/.config/fish/completions/toolfold.fish",
		BashComplete: func(c *cli.Context) { fmt.Fprintln(c.App.Writer, "bash\nzsh\nfish") },
		Action: func(c *cli.Context) error {
			script, known := scripts[c.Args().First()]
			if !known || c.NArg() > 1 {
				return usageError("completion takes one of bash, zsh and fish")
			}
			_, err := io.WriteString(c.App.Writer, script)
			return err
		},
	}
}

// completeActions lists the names of actions, and the flags where the word at
// the cursor begins one.
func completeActions(c *cli.Context) {
	if last := os.Args[len(os.Args)-2]; strings.HasPrefix(last, "-") {
		cli.DefaultCompleteWithFlags(c.Command)(c)
		return
	}
	if c.NArg() > 0 && c.Command.Name == "call" {
		return // the arguments of an action: no list would help
	}
	for _, family := range app.Families() {
		for _, action := range family.Actions {
			fmt.Fprintln(c.App.Writer, action.FullName())
		}
	}
}
