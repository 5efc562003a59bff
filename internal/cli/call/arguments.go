package call

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// maxArguments is the most bytes to read from standard input or a file.
const maxArguments = 16 << 20

// calledName returns the name at the start of a call's words, and the words after it: "task list" is
// task.list.
func calledName(words []string) (name string, rest []string) {
	if len(words) > 1 && !strings.Contains(words[0], ".") && plainWord().MatchString(words[1]) {
		return words[0] + "." + words[1], words[2:]
	}
	return words[0], words[1:]
}

// plainWord matches the name of an action without its family.
var plainWord = regex.Lazy(`^[A-Za-z]\w*$`)

// readArguments returns the arguments of a call: one object, or KEY=value words.
func readArguments(values []string) (json.RawMessage, error) {
	if len(values) == 0 {
		return nil, nil
	}
	if assignment().MatchString(values[0]) {
		return readAssignments(values)
	}
	if len(values) > 1 {
		return nil, env.UsageError("call takes one argument object, or arguments such as key=team/rules; %q is too much", values[1])
	}
	in, arg := os.Stdin, values[0]
	switch {
	case strings.HasPrefix(arg, "@"):
		file, err := os.Open(arg[1:])
		if err != nil {
			return nil, fmt.Errorf("reading arguments: %w", err)
		}
		defer file.Close()
		in = file
	case arg != "-" && !strings.HasPrefix(arg, "{"):
		return nil, env.UsageError("%q is no JSON object, and no argument such as key=team/rules", shorten.Quoted(arg))
	case arg != "-":
		return json.RawMessage(arg), nil
	}
	return readAll(in)
}

// readPiped reads missing required arguments from a pipe. Without arguments the pipe has them all as an
// object; otherwise it has the text of the only missing one.
func readPiped(c *cli.Context, e *entry.Entry, args json.RawMessage) (json.RawMessage, error) {
	var given ordered.Map
	if len(args) > 0 && json.Unmarshal(args, &given) != nil || len(e.Params()) == 0 {
		return args, nil
	}
	var lacking []string
	for _, p := range e.Required() {
		if _, ok := given.Get(p.Name); !ok {
			lacking = append(lacking, p.Name)
		}
	}
	if len(lacking) == 0 || len(given) > 0 && len(lacking) > 1 || !piped() {
		return args, nil
	}
	notice := time.AfterFunc(time.Second, func() {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: waiting for %s on standard input\n", strings.Join(lacking, ", "))
	})
	text, err := readAll(os.Stdin)
	notice.Stop()
	switch {
	case err != nil || len(text) == 0:
		return args, err
	case len(given) == 0:
		return text, nil
	}
	given.Set(lacking[0], strings.TrimSuffix(string(text), "\n"))
	return ordered.MustJSON(given), nil
}

// piped reports whether standard input is a pipe or a file.
func piped() bool {
	info, err := os.Stdin.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

func readAll(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxArguments+1))
	if err == nil && len(text) > maxArguments {
		err = fmt.Errorf("they have more than %d bytes", maxArguments)
	}
	if err != nil {
		return nil, fmt.Errorf("reading arguments: %w", err)
	}
	return text, nil
}

// assignment matches KEY=TEXT and KEY:=JSON.
var assignment = regex.Lazy(`^([A-Za-z_][\w-]*)(:?=)((?s:.*))$`)

// readAssignments builds an object of arguments that are given one by one.
func readAssignments(values []string) (json.RawMessage, error) {
	args := ordered.Map{}
	for _, arg := range values {
		parts := assignment().FindStringSubmatch(arg)
		if parts == nil {
			return nil, env.UsageError("%q is not like KEY=TEXT or KEY:=JSON", shorten.Quoted(arg))
		}
		key, isJSON, text := parts[1], parts[2] == ":=", parts[3]
		if _, twice := args.Get(key); twice {
			return nil, env.UsageError("%s is given twice", key)
		}
		var value any = text
		if isJSON {
			if !json.Valid([]byte(text)) {
				return nil, env.UsageError("%s:=%s is not JSON; for text: %s=%s", key, shorten.Quoted(text), key, shorten.Quoted(text))
			}
			value = json.RawMessage(text)
		}
		args.Set(key, value)
	}
	return ordered.MustJSON(args), nil
}
