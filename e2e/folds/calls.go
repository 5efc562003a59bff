package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// leastLed is the lowest share, in percent, of calls to a wrong tool whose answer leads to the right tool in one
// round.
const leastLed = 98.0

// recorder is a server with a fixed list that records the called tool.
type recorder struct {
	answer upstream.Answer
	called *string
}

func (r recorder) List(context.Context) (upstream.Answer, error) { return r.answer, nil }
func (r recorder) Call(_ context.Context, c upstream.Call) (json.RawMessage, error) {
	*r.called = c.Tool
	return json.RawMessage(`{"content":[]}`), nil
}
func (recorder) Watch(context.Context, string, bool) error { return nil }
func (recorder) Gone() <-chan struct{}                     { return nil }
func (recorder) Close()                                    {}

// leadCount counts calls, and those whose answer leads to the intended tool.
type leadCount struct{ calls, right int }

// misdirected calls every tool of a list by names that a model may guess: as a tool of its own, and on
// each other folded tool of the server. It counts the answers that lead to the tool: it ran, or the error
// names the tool, its action and its usage. Failures are passed to missed.
func misdirected(file string, missed func(call, answer string)) (own, guessed leadCount, err error) {
	server, answer, err := read(file)
	if err != nil {
		return own, guessed, err
	}
	called := ""
	g, err := gateway.New(gateway.Options{
		Upstreams: []gateway.Upstream{{Name: server}},
		Connect: func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error) {
			return recorder{answer, &called}, nil
		},
	})
	if err != nil {
		return own, guessed, err
	}
	defer g.Close()
	if err := g.Learn(context.Background()); err != nil {
		return own, guessed, err
	}
	s := surface.New(surface.Options{})
	if err := s.Put(g.Families()...); err != nil {
		return own, guessed, err
	}
	plan, _ := g.Plan(server)
	var tools []string
	for _, l := range surface.List(g.Families(), surface.Options{Level: lazy.Lazy}) {
		tools = append(tools, l.Name)
	}
	try := func(to *leadCount, tool string, arguments, right string) {
		to.calls++
		called = ""
		reply := s.Client.Call(context.Background(), tool, json.RawMessage(arguments))
		if called == right {
			to.right++
			return
		}
		for _, f := range plan.Families {
			for _, a := range f.Actions {
				if a.Tool == right && leads(string(reply.Content), tool, f.Name, a) {
					to.right++
					return
				}
			}
		}
		missed(tool+" "+arguments, string(reply.Content))
	}
	for _, f := range plan.Families {
		for _, a := range f.Actions {
			for i, name := range namesOf(a.Tool) {
				to := &guessed
				if i == 0 {
					to = &own
				}
				for _, tool := range tools {
					if tool != f.Name {
						try(to, tool, fmt.Sprintf(`{"action":%q}`, name), a.Tool)
					}
				}
				try(to, name, `{}`, a.Tool)
			}
		}
	}
	return own, guessed, nil
}

// leads reports whether an answer is an error that names the family's action and shows its usage. An error of
// the action itself also counts: its arguments were missing.
func leads(content, called, family string, a fold.Action) bool {
	var answer struct {
		Error struct{ Code, Message, Usage string }
	}
	if json.Unmarshal([]byte(content), &answer) != nil {
		return false
	}
	if strings.HasPrefix(answer.Error.Message, family+"."+a.Name+": ") {
		return true // names the missing arguments
	}
	words := strings.FieldsFunc(answer.Error.Message, func(r rune) bool { return strings.ContainsRune(" \"',:;()", r) })
	usage, whole, _ := strings.Cut(answer.Error.Usage, "(")
	switch {
	case answer.Error.Code == "INVALID_INPUT" && (usage == called || called == a.Tool):
		return true // the tool's own name,
	case whole == "" && usage == "": // too long for an error
		return slices.Contains(words, family) && (a.Name == family || slices.Contains(words, a.Name))
	}
	return slices.Contains([]string{a.Name, family, family + "." + a.Name}, usage) && slices.Contains(words, family)
}

// namesOf returns the name of a tool and three guesses from its words: create_issue, issue_create
// and issues.create.
func namesOf(tool string) []string {
	words := strings.FieldsFunc(splitCase(tool), func(r rune) bool { return strings.ContainsRune("_-./: ", r) })
	if len(words) < 2 {
		return []string{tool}
	}
	verb, noun := words[0], strings.Join(words[1:], "_")
	last := words[len(words)-1]
	if slices.Contains(strings.Fields("get list create update delete query set"), strings.ToLower(last)) {
		verb, noun = last, strings.Join(words[:len(words)-1], "_")
	}
	names := []string{tool}
	for _, name := range []string{verb + "_" + noun, noun + "_" + verb, strings.TrimSuffix(noun, "s") + "s." + verb} {
		names = append(names, strings.ToLower(name))
	}
	return names
}

// splitCase inserts a space before each capital that follows a small letter.
func splitCase(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && lower {
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		b.WriteRune(r)
	}
	return b.String()
}

// runCalls prints how many calls to a wrong tool get an answer that leads to the right one.
func runCalls(files []string, verbose bool) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "list\tby its name\t%\tby a guess\t%\t")
	var all leadCount
	var faults []error
	for _, file := range files {
		var misses []string
		own, guessed, err := misdirected(file, func(call, answer string) { misses = append(misses, call+" -> "+answer) })
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%d\t%.1f\t\n", strings.TrimSuffix(filepath.Base(file), ".json"),
			own.calls, percent(own.right, own.calls), guessed.calls, percent(guessed.right, guessed.calls))
		if verbose {
			for _, miss := range misses {
				fmt.Fprintln(os.Stderr, miss)
			}
		}
		all.calls += own.calls + guessed.calls
		all.right += own.right + guessed.right
	}
	if share := percent(all.right, all.calls); share < leastLed {
		faults = append(faults, fmt.Errorf("%.1f %% of calls to a wrong tool are led to the right one, less than %.0f", share, leastLed))
	}
	fmt.Fprintf(w, "together\t%d\t%.1f\t\t\t\n", all.calls, percent(all.right, all.calls))
	return errors.Join(append(faults, w.Flush())...)
}
