package lazy_test

import (
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/lazy"
)

// Tools of other servers are found by all that their descriptions say, by the
// name of their server, and by the verb of their names, although nothing is
// known of what they do.
func TestFindForeignTools(t *testing.T) {
	t.Parallel()
	long := "Looks after the records that belong to the people who work in the offices of the company, among them the parking permits."
	var families []*toolfold.Family
	for _, x := range []toolfold.External{
		{Name: "people_tool", Description: long, Server: "Personio"},
		{Name: "delete_invoice", Description: "An invoice of the ledger."},
		{Name: "get_invoice", Description: "An invoice of the ledger, with all its lines and taxes as they were booked."},
		{Name: "vm_power", Description: "Power of machines."},
		{Name: "e2e", Description: "Start the testsuite."},
	} {
		x.Category = "elsewhere"
		f, err := x.Family()
		if err != nil {
			t.Fatal(err)
		}
		families = append(families, f)
	}
	view := lazy.NewView(lazy.ViewOptions{Families: families})
	for query, want := range map[string]string{
		"parking permit":                       "people_tool",
		"something of Personio":                "people_tool",
		"show the invoice":                     "get_invoice",
		"please delete the invoice":            "delete_invoice",
		"get rid of the invoice":               "delete_invoice",
		"shred the invoice":                    "delete_invoice",
		"our VMs":                              "vm_power",
		"a test suite":                         "e2e",
		"ledgr":                                "get_invoice", // nothing says delete
		"show it without deleting the invoice": "get_invoice",
		"which invoices are deleted":           "get_invoice",
	} {
		if found := view.Find(query, 3); len(found) == 0 || found[0].Name != want {
			t.Errorf("%q wants %s, got %v", query, want, found)
		}
	}
}
