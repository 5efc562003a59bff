package doctor

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/lazy"
)

// printChoices prints what --tier and --fold make of the consolidated tools, one
// row a choice and one column a level. It prints nothing where there are none.
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
