package doctor

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/storage"
)

// maxLegacyRows is how many rows of calls by legacy names are printed.
const maxLegacyRows = 20

// legacyCalls returns the number of calls by legacy name and client, the newest first. It does not
// create a missing store.
func legacyCalls(ctx context.Context, o *settings.Options) (calls []doctor.LegacyCall, err error) {
	if !storage.MayHold(o.Store) {
		return nil, nil
	}
	db, err := storage.Open(ctx, o.Store, o.StoreOptions()...)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	counts, err := db.Usage().Counts(ctx)
	for _, c := range counts {
		calls = append(calls, doctor.LegacyCall(c))
	}
	return calls, err
}

// printLegacyCalls prints the counts, if there are any.
func printLegacyCalls(out io.Writer, counts []doctor.LegacyCall) error {
	if len(counts) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nlegacy name\tclient\tcalls\tlast")
	for _, c := range counts[:min(len(counts), maxLegacyRows)] {
		if c.Client == "" {
			c.Client = "(unknown)"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", c.Name, c.Client, c.Calls, c.Last.Local().Format(time.DateTime))
	}
	if more := len(counts) - maxLegacyRows; more > 0 {
		fmt.Fprintf(w, "and %d more: --json has all\n", more)
	}
	return w.Flush()
}
