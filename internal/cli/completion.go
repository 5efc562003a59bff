package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/tools/config"
)

// scripts are printed by the command completion. Each calls toolfold with the words before the cursor,
// and with the word at the cursor if that is a flag. Its output depends on SHELL.
var scripts = map[string]string{
	"bash": `_toolfold() {
  local cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
  [[ $cur == -* ]] && words+=("$cur")
  COMPREPLY=($(compgen -W "$(SHELL=bash toolfold "${words[@]}" ` + completing + ` 2>/dev/null)" -- "$cur"))
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}
complete -o default -F _toolfold toolfold
`,
	"zsh": `#compdef toolfold
_toolfold() {
  local -a words_before=("${(@)words[2,CURRENT-1]}") found
  [[ $words[CURRENT] == -* ]] && words_before+=("$words[CURRENT]")
  found=("${(@f)$(SHELL=zsh toolfold $words_before ` + completing + ` 2>/dev/null)}")
  if [[ $found[1] == *= ]]; then compadd -S '' -a found
  elif [[ -n $found ]]; then _describe toolfold found; else _files; fi
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
				return env.UsageError("completion takes one of bash, zsh and fish")
			}
			_, err := io.WriteString(c.App.Writer, script)
			return err
		},
	}
}

// complete adds completion of flags and their values to commands.
func complete(commands []*cli.Command) {
	for _, command := range commands {
		complete(command.Subcommands)
		if command.BashComplete == nil {
			command.BashComplete = cli.DefaultCompleteWithFlags(command)
		}
		command.BashComplete = completeValues(command.BashComplete)
	}
}

// completeValues completes the values of a flag with a few valid values if the word before the cursor
// is that flag. Otherwise it calls inner.
func completeValues(inner cli.BashCompleteFunc) cli.BashCompleteFunc {
	return func(c *cli.Context) {
		flag, is := strings.CutPrefix(env.LastWord(), "--")
		values := valuesOf(flag)
		if !is || values == nil || !takesValue(c.Command, env.LastWord()) {
			inner(c)
			return
		}
		for _, value := range values {
			fmt.Fprintln(c.App.Writer, value)
		}
	}
}

// valuesOf returns the values of a flag with a few valid values; nil for other flags.
func valuesOf(flag string) []string {
	for _, p := range config.Params(config.Settings) {
		if settings.FlagName(p.Name) == flag {
			return p.Enum
		}
	}
	return map[string][]string{
		"output": {env.AsTable, env.AsJSON, env.AsYAML}, "log-level": {"debug", "info", "warn", "error"}, "fail-on": {"fail", "warn"},
	}[flag]
}
