package doctor

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/lazy"
)

// printChoices prints the costs of the consolidated tools for each choice of --tier and --fold, one row
// per choice and one column per level. Without choices it prints nothing.
func printChoices(out io.Writer, choices []doctor.Choice) error {
	if len(choices) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\nconsolidated\t")
	levels := lazy.Levels()
	for _, level := range levels {
		fmt.Fprintf(w, "%s\t", level)
	}
	for i, choice := range choices {
		if i%len(levels) == 0 {
			fmt.Fprintf(w, "\n--tier=%s --fold=%s\t", choice.Tier, choice.Fold)
		}
		fmt.Fprintf(w, "%d\t", choice.Total.Tokens)
	}
	fmt.Fprintln(w)
	return w.Flush()
}
