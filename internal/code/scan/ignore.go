package scan

import (
	"os"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolfold/toolfold/internal/system/safefile"
)

// Limits of the size and the patterns of a .gitignore.
const (
	maxIgnore         = 64 << 10
	maxIgnorePatterns = 1000
)

// ignoreRules holds the patterns of the .gitignore files from the workspace down to a folder, outermost
// first. The last pattern that matches decides.
type ignoreRules []ignorePattern

type ignorePattern struct {
	glob   string // matched against paths below the workspace
	keep   bool   // "!pattern"
	folder bool   // "pattern/": folders only
}

// below returns the patterns for a folder: g and those of the folder's own .gitignore.
func (g ignoreRules) below(root *os.Root, folder string) ignoreRules {
	text, err := safefile.Read(root, path.Join(folder, ".gitignore"), maxIgnore)
	if err != nil {
		return g
	}
	own := g[:len(g):len(g)]
	for line := range strings.Lines(string(text)) {
		if pattern, ok := parseIgnore(folder, strings.TrimRight(line, "\r\n")); ok && len(own)-len(g) < maxIgnorePatterns {
			own = append(own, pattern)
		}
	}
	return own
}

// parseIgnore parses a line of a folder's .gitignore.
func parseIgnore(folder, line string) (p ignorePattern, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return p, false
	}
	line, p.keep = strings.CutPrefix(line, "!")
	line, p.folder = strings.CutSuffix(line, "/")
	line = strings.ReplaceAll(strings.ReplaceAll(line, "{", `\{`), "}", `\}`) // git has no alternatives in braces
	if strings.Contains(line, "/") {
		line = strings.TrimPrefix(line, "/")
	} else {
		line = "**/" + line
	}
	if folder != "." {
		line = quoteGlob.Replace(folder) + "/" + line
	}
	p.glob = line
	return p, CheckGlob(p.glob) == nil
}

// quoteGlob escapes the special characters of globs.
var quoteGlob = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

// match reports whether a path below the workspace is ignored. Its parent folders must not be
// ignoreRules.
func (g ignoreRules) match(name string, folder bool) bool {
	for i := len(g) - 1; i >= 0; i-- {
		if p := g[i]; (folder || !p.folder) && p.matches(name) {
			return !p.keep
		}
	}
	return false
}

func (p ignorePattern) matches(name string) bool { return doublestar.MatchUnvalidated(p.glob, name) }
