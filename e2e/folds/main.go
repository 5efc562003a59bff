// Command folds prints the token cost of tool lists, original and folded, for each listing level.
// Its arguments are files with answers to tools/list, or folders of such files. It fails if a list
// of twenty tools or more costs more than it should.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// Limits of the cost of folded lists, in percent of the original cost. Large lists have largeList
// tools or more: several together and each alone have limits at the lazy level, all together at the
// signature level. No list may become more expensive.
const (
	largeList      = 20
	several        = 3
	mostTogether   = 6.0
	mostEach       = 9.0
	mostSignatures = 14.0
)

var levels = []lazy.Level{lazy.Lazy, lazy.Signature, lazy.Full}

func main() {
	calls := flag.Bool("calls", false, "call tools of the lists wrongly, and print how many answers lead to the right one")
	verbose := flag.Bool("v", false, "with -calls: print the other answers")
	lines := flag.Bool("lines", false, "print the folded lists, a line for each tool, as a model reads them")
	flag.Parse()
	files, err := filesIn(flag.Args())
	switch {
	case err != nil:
	case *calls:
		err = runCalls(files, *verbose)
	case *lines:
		err = printLines(os.Stdout, files)
	default:
		err = run(files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "folds:", err)
		os.Exit(1)
	}
}

// filesIn returns the files of arguments that are files or folders.
func filesIn(paths []string) (files []string, err error) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			inside, err := filepath.Glob(filepath.Join(path, "*.json"))
			if err != nil {
				return nil, err
			}
			files = append(files, inside...)
		} else {
			files = append(files, path)
		}
	}
	if len(files) == 0 {
		return nil, errors.New("name files with answers to tools/list, or folders of them")
	}
	return files, nil
}

// run prints the cost of the lists in files.
func run(files []string) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "list\ttools\ttokens\tfolded\tlazy\t%\tsignature\t%\tfull\t%\t")
	var faults []error
	raw, large, folded := 0, 0, map[lazy.Level]int{}
	for _, file := range files {
		cost, err := measure(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		cost.print(w)
		share := percent(cost.levels[lazy.Lazy].Tokens, cost.raw.Tokens)
		if cost.levels[lazy.Lazy].Tokens > cost.raw.Tokens {
			faults = append(faults, fmt.Errorf("%s costs more than before", cost.name))
		}
		if cost.raw.Tools < largeList {
			continue
		}
		if share > mostEach {
			faults = append(faults, fmt.Errorf("%s costs %.1f %% at lazy, more than %.0f", cost.name, share, mostEach))
		}
		raw, large = raw+cost.raw.Tokens, large+1
		for _, level := range levels {
			folded[level] += cost.levels[level].Tokens
		}
	}
	fmt.Fprintf(w, "lists of %d or more\t\t%d\t", largeList, raw)
	for _, level := range levels {
		fmt.Fprintf(w, "\t%d\t%.1f", folded[level], percent(folded[level], raw))
	}
	fmt.Fprintln(w, "\t")
	if err := w.Flush(); err != nil {
		return err
	}
	if share := percent(folded[lazy.Lazy], raw); large >= several && share > mostTogether {
		faults = append(faults, fmt.Errorf("the large lists cost %.1f %% at lazy, more than %.0f", share, mostTogether))
	}
	if share := percent(folded[lazy.Signature], raw); share > mostSignatures {
		faults = append(faults, fmt.Errorf("the large lists cost %.1f %% at signature, more than %.0f", share, mostSignatures))
	}
	return errors.Join(faults...)
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// cost holds the tokens of one list.
type cost struct {
	name   string
	raw    doctor.Cost
	levels map[lazy.Level]doctor.Cost
}

func (c cost) print(w *tabwriter.Writer) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d", c.name, c.raw.Tools, c.raw.Tokens, c.levels[lazy.Lazy].Tools)
	for _, level := range levels {
		fmt.Fprintf(w, "\t%d\t%.1f", c.levels[level].Tokens, percent(c.levels[level].Tokens, c.raw.Tokens))
	}
	fmt.Fprintln(w, "\t")
}

// printLines prints folded lists at the lazy level, to compare two versions.
func printLines(w io.Writer, files []string) error {
	for _, file := range files {
		name, answer, err := read(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		families, _, err := gateway.Fold(gateway.Upstream{Name: name}, answer, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, l := range surface.List(families, surface.Options{Level: lazy.Lazy}) {
			fmt.Fprintf(w, "%s: %s\n", l.Name, strings.Join(strings.Fields(l.Description), " "))
		}
	}
	return nil
}

// read reads the list in a file, which is named after its server. The file may also have the members server and
// instructions.
func read(file string) (name string, answer upstream.Answer, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", answer, err
	}
	var about struct {
		Server struct{ Title, Description string }
	}
	if err := errors.Join(json.Unmarshal(text, &answer), json.Unmarshal(text, &about)); err != nil {
		return "", answer, fmt.Errorf("reading an answer to tools/list: %w", err)
	}
	answer.Title, answer.Description = about.Server.Title, about.Server.Description
	return strings.TrimSuffix(filepath.Base(file), ".json"), answer, nil
}

// measure returns the cost of the list in a file.
func measure(file string) (cost, error) {
	name, answer, err := read(file)
	if err != nil {
		return cost{}, err
	}
	c := cost{name: name, levels: map[lazy.Level]doctor.Cost{}}
	var tools []lazy.ListedTool
	for _, raw := range answer.Tools {
		var l lazy.ListedTool
		if err := json.Unmarshal(raw, &l); err != nil {
			return cost{}, fmt.Errorf("reading a tool: %w", err)
		}
		tools = append(tools, l)
	}
	if c.raw, err = doctor.Count(tools); err != nil {
		return cost{}, err
	}
	families, _, err := gateway.Fold(gateway.Upstream{Name: c.name}, answer, nil)
	if err != nil {
		return cost{}, err
	}
	for _, level := range levels {
		if c.levels[level], err = doctor.Count(surface.List(families, surface.Options{Level: level})); err != nil {
			return cost{}, err
		}
	}
	return c, nil
}
