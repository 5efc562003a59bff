package served_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/permission"
)

// tools.find finds stored scripts by name and description, with their signature and the call that runs them: those in
// files at once, and saved ones once the store is open.
func TestFindScripts(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newMachine(t, store, permission.Rules{}, 0)
		m.write("scripts/weekly-digest.js", "/*---\ndescription: Sums up the invoices of a supplier.\ninputSchema: {type: object, "+
			"properties: {supplier: {type: string}}, required: [supplier]}\n---*/\nreturn 1")
		find := func(m machine, query string) string {
			t.Helper()
			return fmt.Sprint(m.does("tools", fmt.Sprintf(`{"action":"find","query":%q}`, query))["scripts"])
		}
		const want = "description:Sums up the invoices of a supplier. name:weekly-digest " +
			"signature:scripts.weekly_digest(a: {supplier: string}): Promise<unknown> " +
			`usage:script {"action":"run","params":{"name":"weekly-digest"}}`
		closed := newMachineWith(t, store, patient, permission.Rules{}, 0, func(h *app.Host) {
			h.Opened = nil
			h.Open = func(context.Context) (*storage.DB, error) { return nil, errors.New("find opened the store") }
		})
		closed.write("scripts/weekly-digest.js", "return 1")
		if got := find(closed, "weekly digest"); !strings.Contains(got, "name:weekly-digest") {
			t.Error(got)
		}
		untrusted := newMachineWith(t, store, patient, permission.Rules{}, 0, func(h *app.Host) { h.Trusted = func() bool { return false } })
		untrusted.write("scripts/weekly-digest.js", "return 1")
		if got := find(untrusted, "weekly digest"); got != "<nil>" {
			t.Error(got)
		}
		for _, query := range []string{"supplier invoices", "weekly digest", "weekly_digest", "the invoice of suppliers"} {
			if got := find(m, query); !strings.Contains(got, want) {
				t.Errorf("%s: %s", query, got)
			}
		}
		for _, query := range []string{"store a note", "list issues of a repository", "run it"} {
			if got := find(m, query); got != "<nil>" {
				t.Errorf("%s: %s", query, got)
			}
		}
		m.does("script", `{"action":"save","name":"dunning","code":"return 1","description":"Reminds debtors."}`)
		if got := find(m, "remind the debtors"); !strings.Contains(got, `usage:script {"action":"run","params":{"name":"dunning"}}`) ||
			!strings.Contains(got, "scripts.dunning(a?: ") {
			t.Error(got)
		}
		reads := newMachine(t, store, permission.Rules{ReadOnly: true}, 0)
		reads.does("script", `{"action":"list"}`)
		if got := find(reads, "remind debtors"); !strings.Contains(got, `"action":"read"`) {
			t.Error(got)
		}
		denied := newMachine(t, store, permission.Rules{Deny: []string{"script"}}, 0)
		denied.does("memory", `{"action":"list"}`)
		if got := find(denied, "remind debtors"); got != "<nil>" {
			t.Error(got)
		}
	})
}
