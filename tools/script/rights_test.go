package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// desk is a server that notes the ids of the calls that reach it.
type desk struct {
	mu      sync.Mutex
	reached []string
}

func (d *desk) Do(_ context.Context, in shopIn) (shopOut, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reached = append(d.reached, in.ID)
	return shopOut{1}, nil
}

// take returns the ids of the calls since the last take, in order.
func (d *desk) take() (ids []string) {
	ids, d.reached = d.reached, nil
	slices.Sort(ids)
	return ids
}

// forms are ways in which a script may try to call the action "family.action", which sets the id.
var forms = []string{
	`FAMILY.ACTION({id})`, `tools.call("FAMILY.ACTION", {id})`, `globalThis["FAMILY"]["ACTION"]({id})`,
	`(() => { const {ACTION} = FAMILY; return ACTION({id}) })()`, `Reflect.get(FAMILY, "ACTION")({id})`,
	`FAMILY.ACTION.call(null, {id})`, `FAMILY.ACTION.apply(tools, [{id}])`, `[{id}].map(FAMILY.ACTION)[0]`,
	`new Function("id", "return FAMILY.ACTION({id})")(id)`, `eval("FAMILY.ACTION({id})")`,
	`tools.call("FAMILY" + String.fromCharCode(46) + "ACTION", {id})`, `Promise.resolve({id}).then(FAMILY.ACTION)`,
	`Object.entries(FAMILY).find(([key]) => key === "ACTION")[1]({id})`, `tools.call.bind(null, "FAMILY.ACTION")({id})`,
	`(async function* () { yield await FAMILY.ACTION({id}) })().next()`, `FAMILY?.ACTION?.({id})`,
	// The last forms may reach no action.
	`(delete globalThis.FAMILY, FAMILY.ACTION({id}))`, `Object.assign(Object.create(FAMILY), {}).ACTION({id})`,
	`tools.call("FAMILY_ACTION", {id})`, `tools.call(" FAMILY.ACTION", {id})`,
}

// maybeNone is the number of forms that may reach no action.
const maybeNone = 4

// shelved is a library with one script, and the rights of whoever saved it.
type shelved struct {
	source string
	rights *toolfold.Rights
}

func (s shelved) Names(context.Context) ([]string, error) { return []string{"tries"}, nil }

func (s shelved) Stored(context.Context, string) (script.Stored, error) {
	return script.Stored{Name: "tries", Source: s.source}, nil
}

func (s shelved) Accept(_ context.Context, _ script.Stored, input json.RawMessage) (json.RawMessage, error) {
	return input, nil
}

func (s shelved) Limits(script.Stored) (*toolfold.Rights, error) { return s.rights, nil }

// spoils begins a script that offers its own functions to the script that it calls.
const spoils = `Object.prototype.desk = globalThis.desk; Object.prototype.shelf = globalThis.shelf;
	Array.prototype.map = function (f) { return [f] };
`

// A script reaches what its caller reaches by single calls, script.read the actions of these that only read, and a
// stored script that another one calls those that also its saver reaches. The rights are drawn at random;
// TOOLFOLD_PROGRAMS sets their number.
func TestSameRights(t *testing.T) {
	t.Parallel()
	number := 10
	if text := os.Getenv("TOOLFOLD_PROGRAMS"); text != "" {
		var err error
		if number, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	d := &desk{}
	effects := map[string]toolfold.Effect{
		"get": toolfold.Reads, "add": toolfold.Adds, "set": toolfold.Sets, "drop": toolfold.Deletes, "run": toolfold.Runs,
	}
	var mounted []*toolfold.Family
	var names []string
	for _, family := range []string{"desk", "shelf"} {
		f := toolfold.Family{Name: family, Summary: "A place"}
		for _, name := range []string{"get", "add", "set", "drop", "run"} {
			names = append(names, family+"."+name)
			f.Actions = append(f.Actions, &toolfold.Action{
				Name: name, Summary: "Do.", Required: toolfold.Fields{toolfold.String{Name: "id", Doc: "ID."}}, Effect: effects[name],
				Example: `{"id": "a"}`, Run: toolfold.Method((*desk).Do),
			})
		}
		mounted = append(mounted, toolfoldtest.Mount(t, f, d))
	}
	caller := toolfoldtest.RunnerWith(mounted, call.Permissions)
	r := &script.Runner{Caller: caller, Names: caller, Now: time.Now}
	random := rand.New(rand.NewPCG(1, 2))
	some := func() (patterns []string) {
		all := append([]string{"desk", "shelf", "desk.*", "*.get", "*.drop"}, names...)
		for range random.IntN(4) {
			patterns = append(patterns, all[random.IntN(len(all))])
		}
		return patterns
	}
	for range number {
		rules := permission.Rules{Allow: some(), Deny: some(), ReadOnly: random.IntN(4) == 0}
		ctx := callctx.With(t.Context(), toolfold.Origin{Rights: rules.Rights()})
		var allowed, reads []string
		for _, name := range names {
			caller.Call(ctx, name, json.RawMessage(`{"id": "`+name+`"}`))
			if ids := d.take(); len(ids) > 0 {
				allowed = append(allowed, name)
				if strings.HasSuffix(name, ".get") {
					reads = append(reads, name)
				}
			}
		}
		for _, try := range []struct{ readsOnly, stored bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
			readsOnly, want := try.readsOnly, allowed
			if readsOnly {
				want = reads
			}
			form, job := random.IntN(len(forms)), script.Job{ReadsOnly: readsOnly}
			var source strings.Builder
			for _, name := range names {
				family, action, _ := strings.Cut(name, ".")
				text := strings.NewReplacer("FAMILY", family, "ACTION", action).Replace(forms[form])
				fmt.Fprintf(&source, "{ const id = %q; try { await %s } catch {} }\n", name, text)
			}
			if job.Source = source.String(); try.stored {
				saver := permission.Rules{Allow: some(), Deny: some()}
				var both []string
				for _, name := range want {
					if saver.Rights().Allow(caller.Lookup(name)[0].Action) {
						both = append(both, name)
					}
				}
				want, r.Library = both, shelved{source.String(), saver.Rights()}
				job.Source = spoils + "await scripts.tries()"
			}
			result, err := r.Run(ctx, job)
			if err != nil {
				t.Fatal(err)
			}
			if try.stored && result.Error != nil { // its text has calls that it may not make: nothing of it runs
				if len(want) == len(names) || !strings.HasPrefix(result.Error.Message, "scripts.tries: line ") {
					t.Errorf("%v: %v", rules, result.Error)
				}
				want = nil
			}
			got := d.take()
			more := slices.ContainsFunc(got, func(id string) bool { return !slices.Contains(want, id) })
			if more || form < len(forms)-maybeNone && len(got) < len(want) {
				t.Errorf("%v, reads only %t: %s reached %v, single calls %v", rules, readsOnly, forms[form], got, want)
			}
		}
	}
}
