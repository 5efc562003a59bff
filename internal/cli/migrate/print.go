package migrate

import (
	"fmt"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/code/sarif"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/migration/files"
)

// rewrite prints the changes to a file, or writes it with --write.
func (f legacyFile) rewrite(c *cli.Context) error {
	if !c.Bool("write") {
		name := filepath.ToSlash(f.display)
		_, err := c.App.Writer.Write(diff.Diff("a/"+name, f.before, "b/"+name, f.result.Now))
		return err
	}
	if err := safefile.Replace(f.root, f.name, f.result.Now); err != nil {
		return fmt.Errorf("writing %s: %w", f.display, err)
	}
	_, err := fmt.Fprintf(c.App.Writer, "rewritten %s\n", f.display)
	return err
}

// useRules lists the kinds of uses as rules.
var useRules = []sarif.Rule{
	{ID: string(files.Calls), Text: "a call by the name of a legacy tool"},
	{ID: string(files.Text), Text: "a text that names a legacy tool"},
	{ID: string(files.Permits), Text: "a rule that permits a legacy tool"},
	{ID: string(files.Asks), Text: "a rule that asks before a legacy tool is called"},
	{ID: string(files.Forbids), Text: "a rule that forbids a legacy tool"},
	{ID: string(files.Compares), Text: "a comparison with the name of a legacy tool"},
	{ID: string(files.Mentions), Text: "the name of a legacy tool in code or settings"},
}

// sarif returns the uses as findings. A rule or comparison with a legacy name no longer protects
// anything, so it is an error.
func (r *repository) sarif() []byte {
	var results []sarif.Result
	for _, f := range r.files {
		for _, u := range f.result.Uses {
			level := "warning"
			if u.Kind == files.Forbids || u.Kind == files.Compares {
				level = "error"
			}
			message := u.Name + " → " + u.Now
			if u.Note != "" {
				message += " (" + u.Note + ")"
			}
			results = append(results, sarif.Result{Rule: string(u.Kind), Level: level, Message: message, Path: f.display, Line: u.Line})
		}
	}
	return sarif.Run{Tool: "toolfold", Version: env.Version(), Rules: useRules, Results: results}.Log()
}
