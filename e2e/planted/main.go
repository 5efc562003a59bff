// Command planted scans the faults in the testdata of package scan with toolfold and with common
// tools of projects. It writes a table of the faults that each finds. It needs go, npm and a
// network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold/e2e/product"
	"github.com/toolfold/toolfold/internal/code/scan"
)

const (
	begin = "<!-- planted -->\n"
	end   = "<!-- /planted -->"
)

// tool is a program that prints "file:line".
type tool struct {
	name string
	argv []string
	in   string // language
}

// npm lists the packages that the TypeScript tools need.
var npm = []string{
	"npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "eslint@9", "@eslint/js@9", "typescript@5", "typescript-eslint@8",
	"@types/node@22", "@types/react@19", "@types/express@5",
}

const eslintConfig = `import js from "@eslint/js";
import ts from "typescript-eslint";
export default ts.config(js.configs.recommended, ts.configs.recommended);
`

var tools = []tool{
	{"go vet", []string{"go", "vet", "./..."}, "go"},
	{"staticcheck", []string{"go", "run", "honnef.co/go/tools/cmd/staticcheck@v0.8.2", "./..."}, "go"},
	{"eslint (recommended)", []string{"npx", "eslint", "--format", "json", "--no-inline-config", "."}, "typescript"},
	{"tsc --strict", []string{"npx", "tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2023", "--module", "nodenext",
		"--lib", "es2023,dom,dom.iterable,esnext.disposable", "--jsx", "react-jsx", "orders.ts", "files.ts", "panel.tsx"}, "typescript"},
}

func main() {
	page := flag.String("write", "", "page whose table is written; empty = print it")
	planted := flag.String("planted", "", "folder with a folder for each language; empty = internal/code/scan/testdata/planted of toolfold")
	flag.Parse()
	ctx := context.Background()
	if *planted == "" {
		dir, err := product.Dir(ctx)
		if err != nil {
			log.Fatal(err)
		}
		*planted = filepath.Join(dir, "internal/code/scan/testdata/planted")
	}
	table, err := measure(ctx, *planted)
	if err != nil {
		log.Fatal(err)
	}
	if *page == "" {
		fmt.Print(table)
		return
	}
	if err := write(*page, table); err != nil {
		log.Fatal(err)
	}
}

// write writes the table between the marks of a page.
func write(page, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table: put %s and %s there", page, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(page, []byte(before+begin+table+end+after), 0o644)
}

func measure(ctx context.Context, planted string) (string, error) {
	var table strings.Builder
	table.WriteString("| language | planted | tool | found | other lines |\n|---|---|---|---|---|\n")
	for _, language := range []string{"go", "python", "typescript"} {
		dir, err := os.MkdirTemp("", "planted-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		faults, err := unpack(filepath.Join(planted, language), dir)
		if err != nil {
			return "", err
		}
		ours, err := byToolfold(ctx, dir, faults)
		if err != nil {
			return "", err
		}
		row(&table, language, "toolfold", faults, ours)
		if language == "typescript" {
			if err := os.WriteFile(filepath.Join(dir, "eslint.config.mjs"), []byte(eslintConfig), 0o644); err != nil {
				return "", err
			}
			if _, err := run(ctx, dir, npm); err != nil {
				return "", err
			}
		}
		for _, t := range tools {
			if t.in != language {
				continue
			}
			output, err := run(ctx, dir, t.argv)
			var failed *exec.ExitError
			if err != nil && !errors.As(err, &failed) { // tools exit with an error if they find something
				return "", err
			}
			lines := linesIn(output, dir)
			if len(lines) == 0 {
				return "", fmt.Errorf("%s reports nothing in %s:\n%s", t.name, language, output)
			}
			row(&table, language, t.name, faults, lines)
		}
	}
	return table.String(), nil
}

// row writes how many faults and how many other lines a tool reports.
func row(table *strings.Builder, language, name string, faults, lines map[string]bool) {
	found := 0
	for place := range lines {
		if faults[place] {
			found++
		}
	}
	fmt.Fprintf(table, "| %s | %d | %s | %d | %d |\n", language, len(faults), name, found, len(lines)-found)
}

// unpack copies planted files, and returns the places of the faults as "file:line".
func unpack(from, to string) (map[string]bool, error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	faults := map[string]bool{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(entry.Name(), ".txt")
		for i, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, " bug: ") {
				faults[name+":"+strconv.Itoa(i+1)] = true
			}
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return nil, err
		}
	}
	return faults, nil
}

// byToolfold returns the places that toolfold reports: faults of any severity, other lines of medium severity or
// above.
func byToolfold(ctx context.Context, dir string, faults map[string]bool) (map[string]bool, error) {
	s := scan.Scanner{Dir: dir}
	report, err := s.Scan(ctx, scan.Request{Purpose: scan.Bugs, Paths: []string{"."}, MaxFiles: 100})
	if err != nil {
		return nil, err
	}
	if len(report.Skipped) > 0 {
		return nil, fmt.Errorf("skipped: %v", report.Skipped)
	}
	levels := scan.Levels[scan.Bugs]
	lines := map[string]bool{}
	for _, f := range report.Findings {
		heavy := slices.Contains(levels[:slices.Index(levels, "medium")+1], f.Level)
		for _, line := range append([]int{f.Line}, f.Again...) {
			if place := fmt.Sprintf("%s:%d", f.File, line); heavy || faults[place] {
				lines[place] = true
			}
		}
	}
	return lines, nil
}

// run returns the output of a command.
func run(ctx context.Context, dir string, argv []string) (string, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir = dir
	output, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w:\n%.2000s", strings.Join(argv, " "), err, output)
	}
	return string(output), err
}

// linesIn returns the places that a tool's output names.
func linesIn(output, dir string) map[string]bool {
	lines := map[string]bool{}
	// The output of compilers. A cached answer of go vet names another folder.
	place := regexp.MustCompile(`(?m)^(?:vet: )?(?:\S*/)?([\w.]+\.(?:go|tsx?))[:(](\d+)[:,]`)
	for _, m := range place.FindAllStringSubmatch(output, -1) {
		lines[m[1]+":"+m[2]] = true
	}
	file := regexp.MustCompile(`"filePath":"([^"]+)"|"line":(\d+)`) // of eslint
	name := ""
	for _, m := range file.FindAllStringSubmatch(output, -1) {
		if m[1] != "" {
			name, _ = filepath.Rel(dir, m[1])
		} else if name != "eslint.config.mjs" {
			lines[name+":"+m[2]] = true
		}
	}
	return lines
}
