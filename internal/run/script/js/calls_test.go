package js

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCalls(t *testing.T) {
	t.Parallel()
	const source = `const a = await github.list_issues({owner: "x", 'repo': a, "n": 1, list: [1, {b: null}], ["c" + d]: 1})
github
  .get_issue({...rest, state: 'it\'s'})
if (x) for (const y of await memory . get({key})) my_server["list-things"](y)
tools.call("my-server.list-things", {t: -1, u: .5, v: ` + "`text`" + `})
tools.call(name, {}); tools.find({query: "é"}); /* é */ tools.nosuch()
const local = {}; local.get(); own = {}; own.get(); Math.max(1); input.list.map(memory.store)
function f(memory) { memory.nosuch() }
const g = async (github = 1) => { github.nosuch(); memory?.get?.() }
class C { m() { return memory.get("a") } }
return ` + "`${githb.x()}`"
	list, err := Calls(source)
	if err != nil {
		t.Fatal(err)
	}
	find := Names(names)
	var got []string
	for _, r := range list {
		var args []string
		for _, a := range r.Args {
			args = append(args, fmt.Sprintf("%s=%s", a.Name, a.Value))
		}
		name, ok := find(r)
		if !ok {
			name = "unknown"
		}
		got = append(got, fmt.Sprintf("%d:%d %s.%s %v %v %s", r.Line, r.Column, r.Object, r.Key, args, r.Complete, name))
	}
	want := []string{
		`1:17 github.list_issues [owner="x" repo= n=1 list=[1, {"b": null}]] false github.list_issues`,
		`2:1 github.get_issue [state="it's"] false github.get_issue`,
		`4:30 memory.get [key=] true memory.get`,
		`4:51 my_server.list-things [] false my-server.list-things`,
		`5:12 .my-server.list-things [t=-1 u= v="text"] true my-server.list-things`,
		`6:23 tools.find [query="é"] true tools.find`,
		`6:57 tools.nosuch [] true unknown`,
		`7:81 memory.store [] false memory.store`,
		`9:52 memory.get [] true memory.get`,
		`10:24 memory.get [] false memory.get`,
		`11:11 githb.x [] true unknown`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, source := range []string{"const = 1", strings.Repeat("[", 1e5), "}); f(); (async () => {"} {
		list, err := Calls(source)
		if list = slices.DeleteFunc(list, func(r Reference) bool { return r.Function }); err == nil && len(list) > 0 {
			t.Errorf("%.20s: %v", source, list)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const types = "types are not accepted, the script must be JavaScript: remove "
	for source, want := range map[string]string{
		"return await memory.get()": "",
		"for (;;);":                 "",
		"const a = {b: c ? d : e}; return a != null ? 1 : 2": "",
		"f()\nconst a = = 1":                  `line 2, column 11: unexpected token in expression: '=': const a = = 1`,
		"let x = a ? b : c : d":               `line 1, column 19: expecting ';': let x = a ? b : c : d`,
		"const a: string = 1":                 types + `": string"`,
		"let a: Map<string, number>[] = []":   types + `": Map<string, number>[]"`,
		"function f(a: string) {}":            types + `": string"`,
		"function f(a?: string) {}":           types + `"?: string"`,
		"function f(a): Promise<void> {}":     types + `": Promise<void>"`,
		"const f = async (a: string, b) => 1": types + `": string"`,
		"interface A { x: string }":           types + `"interface A"`,
		"type A = {x: string}":                types + `"type A"`,
		"export type A = string":              types + `"export type A"`,
		"enum A { B }":                        types + `"enum A"`,
		"const a = b as string[]":             types + `"as string[]"`,
		"const a = <string>b":                 types + `"<string>"`,
		"function f<T>(a) {}":                 types + `"<T>"`,
		"const a = new Map<string, number>()": types + `"<string, number>"`,
		"const a = b!":                        types + `"!"`,
		"class A { private x = 1 }":           types + `"private"`,
		"class A { x: string = 1 }":           types + `": string"`,
		"try {} catch (e: any) {}":            types + `": any"`,
		`import fs from "fs"`:                 "there are no modules: remove import and export",
		"export const a = 1":                  "there are no modules: remove import and export",
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			err := Check(source)
			var fault *SyntaxError
			if want == "" && err != nil || want != "" && (!errors.As(err, &fault) || !strings.Contains(err.Error(), want)) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}
