package machine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/run/audit"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/pattern"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// AuditCommand returns the command audit.
func AuditCommand() *cli.Command {
	return &cli.Command{
		Name: "audit", Usage: "show who called what over HTTP, by the names of tokens",
		Description: "A call that may change something is recorded before it runs. One without an end runs now, or its\n" +
			"server ended first. Of arguments only the SHA-256 is kept.",
		Flags: append(settings.Flags("store"),
			&cli.StringFlag{Name: "since", Usage: "calls from then on: " + clock.Moments, Value: "-24h"},
			&cli.StringFlag{Name: "until", Usage: "calls up to then"},
			&cli.StringFlag{Name: "caller", Usage: "calls by the token with this name"},
			&cli.StringFlag{Name: "action", Usage: "calls of this action, or of actions by a pattern such as memory.*"},
			&cli.BoolFlag{Name: "failed", Usage: "calls that failed, were refused, or have no end"},
			&cli.BoolFlag{Name: env.JSONFlag.Name, Usage: "print a JSON object in a line for each call"}),
		Action: showAudit,
	}
}

// auditPage is the number of entries that are read at once.
const auditPage = 1000

func showAudit(c *cli.Context) error {
	if c.NArg() > 0 {
		return env.UsageError("audit takes no arguments: --caller NAME selects a caller, --action NAME an action")
	}
	q := audit.Query{Caller: c.String("caller"), Limit: auditPage}
	now := time.Now()
	var err error
	if q.Since, _, err = clock.Moment(c.String("since"), now); err != nil {
		return env.UsageError("--since: %v", err)
	}
	if c.IsSet("until") {
		_, last, err := clock.Moment(c.String("until"), now)
		if err != nil {
			return env.UsageError("--until: %v", err)
		}
		q.Until = last.Add(time.Microsecond)
	}
	db, _, err := openStore(c)
	if errors.Is(err, errNoStore) {
		return nothingAudited(c)
	}
	if err != nil {
		return err
	}
	defer db.Close()
	action := pattern.Parse(c.String("action"))
	print, end := auditLines(c)
	shown := 0
	for {
		page, err := db.Audit().List(c.Context, q)
		if err != nil {
			return err
		}
		for _, e := range page {
			failed := e.Code != "" || e.Ended.IsZero()
			if c.IsSet("action") && !action.Match(e.Action) || c.Bool("failed") && !failed {
				continue
			}
			shown++
			if err := print(e); err != nil {
				return err
			}
		}
		if len(page) < auditPage {
			break
		}
		q.After = &page[len(page)-1]
	}
	if shown == 0 {
		return nothingAudited(c)
	}
	return end()
}

// nothingAudited tells people that no call is recorded.
func nothingAudited(c *cli.Context) error {
	if c.Bool(env.JSONFlag.Name) {
		return nil
	}
	_, err := fmt.Fprintln(c.App.Writer, "no such call is recorded: calls over HTTP with a token are, see --since")
	return err
}

// auditLines returns a function that prints an entry, and one that ends the output.
func auditLines(c *cli.Context) (print func(audit.Entry) error, end func() error) {
	if c.Bool(env.JSONFlag.Name) {
		enc := json.NewEncoder(c.App.Writer)
		enc.SetEscapeHTML(false)
		return func(e audit.Entry) error { return enc.Encode(e) }, func() error { return nil }
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	return func(e audit.Entry) error {
		took, outcome := "–", "no end"
		if !e.Ended.IsZero() {
			took, outcome = e.Ended.Sub(e.Began).Round(time.Millisecond).String(), cmp.Or(e.Code, "done")
		}
		caller := cmp.Or(e.Caller, "token "+e.Token)
		_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n",
			e.Began.Local().Format(time.DateTime), cell(caller), cell(e.Action), outcome, took, cell(e.Client))
		return err
	}, w.Flush
}

// cell shortens a text that callers choose to one line, so that none can look like a call of its own.
func cell(text string) string { return shorten.Quoted(strings.Join(strings.Fields(text), " ")) }
