package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// A host that shows only names finds every tool by the server's purpose, and by words of each action's
// name and first sentence.
func TestHints(t *testing.T) {
	t.Parallel()
	s := surface.New(surface.Options{Level: lazy.Signature})
	put := func(server, instructions string, tools ...json.RawMessage) {
		t.Helper()
		families, _, err := gateway.Fold(gateway.Upstream{Name: server}, upstream.Answer{Instructions: instructions, Tools: tools}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(families...); err != nil {
			t.Fatal(err)
		}
	}
	tool := func(name, description string, reads bool) json.RawMessage {
		description += strings.Repeat(" More is said about croissants.", 20)
		return fmt.Appendf(nil, `{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{"id":{"type":"string"}}},`+
			`"annotations":{"readOnlyHint":%t}}`, name, description, reads)
	}
	put("shop", "Gives access to orders and invoices of a bakery.",
		tool("get_order", "Show what somebody bought.", true), tool("list_orders", "Every purchase of a baker's dozen.", true),
		tool("cancel_order", "Refund a purchase and its purchases.", false), tool("pay_order", "Settle with a voucher.", false))
	var crowd []json.RawMessage
	for i := range 38 {
		crowd = append(crowd, tool(fmt.Sprintf("get_thing%d", i), fmt.Sprintf("Measure wonder%c%c of mystery%c%c.",
			'a'+i/10, 'a'+i%10, 'a'+i/10, 'a'+i%10), true))
	}
	put("crowd", "", crowd...)

	hints := map[string][]string{}
	for _, l := range s.Discovery.View(t.Context()).ListAt(lazy.Signature) {
		hints[l.Name] = strings.Split(l.Words(), ", ")
		t.Logf("%s: %s: %s", l.Name, l.Description, l.Words())
	}
	for name, want := range map[string]string{
		"shop":       "shop orders invoices bakery order list bought dozen",
		"shop_write": "shop orders invoices bakery cancel refund settle voucher",
	} {
		got := hints[name]
		for word := range strings.FieldsSeq(want) {
			if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+word+" ") {
				t.Errorf("%s: %q, want %s", name, got, word)
			}
		}
	}
	for _, other := range []string{"croissants", "the", "its", "purchases"} {
		if got := strings.Join(hints["shop_write"], " "); strings.Contains(" "+got+" ", " "+other+" ") {
			t.Errorf("shop_write: %s, want it without %s", got, other)
		}
	}
	if got := hints["crowd"]; len(got) != 60 || !strings.Contains(strings.Join(got, " "), "thing37") {
		t.Errorf("crowd: %d words, want 60, with one of the last action: %q", len(got), got)
	}
}
