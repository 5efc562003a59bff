package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/text/regex"
)

const (
	workers   = 8
	errorSize = 640 // limit of an error's text in bytes
)

// fuzz calls every action with right, nearly right and wrong arguments. Each worker uses one
// session.
func fuzz(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	s, err := p.start(ctx)
	if err != nil {
		return err
	}

	var actions []*toolfold.Action
	for _, family := range app.Families() {
		actions = append(actions, family.Actions...)
	}
	var calls, successes, failures, long atomic.Int64
	ids := &knownIDs{}
	begin, end := s.client(), time.Now().Add(a.size.fuzz)
	each(workers, func(worker int) {
		c, err := begin.initialized(ctx)
		if err != nil {
			r.bad("broken connections", "initialize: %v", err)
			return
		}
		g := &generator{rand.New(rand.NewPCG(a.seed, uint64(worker))), actions, ids}
		for time.Now().Before(end) && ctx.Err() == nil && calls.Add(1) <= int64(a.fuzzCalls) {
			tool, arguments := g.call()
			got, err := c.call(ctx, tool, arguments)
			if !r.judge(c, map[string]any{"name": tool, "arguments": arguments}, got, err) {
				continue
			}
			if got.code == "" {
				successes.Add(1)
				ids.learn(got.content)
				continue
			}
			failures.Add(1)
			if len(got.content) > errorSize {
				long.Add(1)
			}
		}
	})
	r.note("%d actions, %d calls, %d successes, %d errors, %d of them over %d bytes", len(actions),
		successes.Load()+failures.Load(), successes.Load(), failures.Load(), long.Load(), errorSize)
	return nil
}

// knownIDs holds ids from the server, so that calls find existing entries.
type knownIDs struct {
	mu  sync.Mutex
	ids []string
}

var anID = regex.Lazy(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func (k *knownIDs) learn(content []byte) {
	if id := anID().Find(content); id != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if len(k.ids) == 256 {
			k.ids = k.ids[128:]
		}
		k.ids = append(k.ids, string(id))
	}
}

// generator makes calls.
type generator struct {
	*rand.Rand
	actions []*toolfold.Action
	ids     *knownIDs
}

// call returns a tool's name and arguments.
func (g *generator) call() (tool string, arguments any) {
	action := g.actions[g.IntN(len(g.actions))]
	arguments = nil
	var members map[string]any
	if g.IntN(2) == 0 {
		_ = json.Unmarshal([]byte(action.Example), &members)
	}
	if members == nil {
		members = map[string]any{}
	}
	params := action.Params()
	for i, p := range params {
		if _, set := members[p.Name]; !set && (i < len(action.Required) && g.IntN(10) > 0 || g.IntN(4) == 0) {
			members[p.Name] = g.right(p)
		}
	}
	tool = action.Family.Name
	if !action.Family.Bare {
		members["action"] = action.Name
	}
	switch g.IntN(12) {
	case 0:
		tool = g.near(tool)
	case 1:
		tool = action.FullName()
		delete(members, "action")
	case 2:
		if len(action.Legacy) > 0 {
			tool = action.Legacy[g.IntN(len(action.Legacy))].Name
			delete(members, "action")
		}
	}
	for range g.IntN(4) {
		g.spoil(members, params, action)
	}
	if g.IntN(100) == 0 {
		return tool, g.wrong()
	}
	return tool, members
}

// spoil makes one argument wrong or unusual.
func (g *generator) spoil(members map[string]any, params []toolfold.Param, action *toolfold.Action) {
	name := "action"
	if len(params) > 0 && g.IntN(8) > 0 {
		name = params[g.IntN(len(params))].Name
	}
	switch g.IntN(8) {
	case 0:
		delete(members, name)
	case 1, 2, 3:
		members[name] = g.wrong()
	case 4:
		members[g.near(name)] = members[name]
		delete(members, name)
	case 5:
		members["include_fields"] = []any{g.near("key"), g.text(), "success", g.wrong()}[:g.IntN(5)]
	case 6:
		other := g.actions[g.IntN(len(g.actions))].Params()
		if len(other) > 0 {
			p := other[g.IntN(len(other))]
			members[p.Name] = g.right(p)
		}
	case 7:
		members["action"] = []any{g.near(action.Name), strings.ToUpper(action.Name), action.FullName(), g.wrong()}[g.IntN(4)]
	}
}

// right returns a value that the declaration of a parameter allows.
func (g *generator) right(p toolfold.Param) any {
	if len(p.Enum) > 0 {
		return p.Enum[g.IntN(len(p.Enum))]
	}
	switch p.Kind {
	case toolfold.KindInteger, toolfold.KindNumber:
		low, high := 0, 100
		if p.Min != nil {
			low = int(*p.Min)
			high = low + 100
		}
		if p.Max != nil {
			high = max(low, int(min(*p.Max, 1e6)))
		}
		return low + g.IntN(high-low+1)
	case toolfold.KindBoolean:
		return g.IntN(2) == 0
	case toolfold.KindArray:
		list := []any{}
		for range max(p.MinItems, g.IntN(4)) {
			if p.Items != nil {
				list = append(list, g.right(*p.Items))
			} else {
				list = append(list, g.text())
			}
		}
		return list
	case toolfold.KindObject:
		object := map[string]any{}
		for _, member := range p.Required {
			object[member.Name] = g.right(member)
		}
		for _, member := range p.Optional {
			if g.IntN(2) == 0 {
				object[member.Name] = g.right(member)
			}
		}
		return object
	case toolfold.KindAny:
		return []any{g.text(), 7, true, map[string]any{"a": g.text()}, []any{1, "two"}}[g.IntN(5)]
	}
	switch p.Format {
	case "uuid":
		return g.id()
	case "date-time":
		return time.Unix(int64(g.IntN(4_000_000_000)), 0).UTC().Format(time.RFC3339)
	}
	if strings.HasSuffix(p.Name, "Id") && g.IntN(2) == 0 {
		return g.id()
	}
	text := g.text()
	for len([]rune(text)) < p.MinLen {
		text += "x"
	}
	return text
}

func (g *generator) id() string {
	g.ids.mu.Lock()
	defer g.ids.mu.Unlock()
	if len(g.ids.ids) > 0 && g.IntN(4) > 0 {
		return g.ids.ids[g.IntN(len(g.ids.ids))]
	}
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", g.IntN(5))
}

var texts = []string{
	"", " ", "a", "team/rules", "default", "keeper", "deploys", "note", "*", "%", "_", "'; --", `"`, `\`, "../../etc/passwd",
	"/dev/zero", "$HOME",
	"{{input}}", "${x}", "\x00", "a\x00b", "\n\r\t", "\u202e\u200d", "ﷺ", "👩‍👩‍👧‍👦", "e\u0301", "\ufeff", "null", "true", "-1", "1e400", "NaN",
	"0x10", "2026-13-45T99:99:99Z",
	"__proto__", "mem://x", "[[[[", "{", "&a [*a]", "AAECAw", "eyJhIjoxfQ", "NULL", "٣", "ﬀ", "ß", "İ",
}

func (g *generator) text() string {
	switch g.IntN(20) {
	case 0:
		return strings.Repeat(texts[g.IntN(len(texts))]+"x", g.IntN(300))
	case 1:
		return g.near("team/rules")
	}
	return texts[g.IntN(len(texts))]
}

// wrong returns an arbitrary value.
func (g *generator) wrong() any {
	switch g.IntN(22) {
	case 0:
		return nil
	case 1:
		return g.IntN(2) == 0
	case 2:
		return -g.IntN(1000)
	case 3:
		return json.RawMessage([]string{"1e308", "-0", "1e400", "9007199254740993", "123456789012345678901234567890", "0.1", "1E-7",
			"-9223372036854775809"}[g.IntN(8)])
	case 4:
		return []any{}
	case 5:
		return map[string]any{}
	case 6:
		depth := 1 + g.IntN(300)
		return json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	case 7:
		depth := 1 + g.IntN(300)
		return json.RawMessage(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth))
	case 8:
		if g.IntN(4) == 0 {
			return strings.Repeat("é", 100_000)
		}
		return strings.Repeat("x", g.IntN(5000))
	case 9:
		list := make([]any, g.IntN(1000))
		for i := range list {
			list[i] = i
		}
		return list
	case 10:
		return []any{g.text(), g.text(), g.text()}
	case 11:
		return map[string]any{g.text(): g.text(), "tool": "memory.store", "arguments": map[string]any{"key": g.text(), "value": g.text()}}
	case 12:
		return json.RawMessage(`{"a":1,"a":2,"\u0000":3}`)
	case 13:
		return json.RawMessage(`"\ud800"`)
	case 14:
		return `{"a": [1, 2, {"b": null}]}`
	case 15:
		return []any{map[string]any{"id": "s", "tool": g.actions[g.IntN(len(g.actions))].FullName(), "arguments": map[string]any{}}}
	case 16:
		return g.id()
	}
	return g.text()
}

// near returns a misspelt name.
func (g *generator) near(name string) string {
	runes := []rune(name)
	if len(runes) == 0 {
		return "x"
	}
	i := g.IntN(len(runes))
	switch g.IntN(6) {
	case 0:
		return string(runes[:i]) + string(runes[i+1:])
	case 1:
		return string(runes[:i]) + string(runes[i]) + string(runes[i:])
	case 2:
		return strings.ToUpper(name)
	case 3:
		return string(runes[:i]) + "_" + string(runes[i:])
	case 4:
		return name + g.text()
	}
	runes[i] = rune('a' + g.IntN(26))
	return string(runes)
}
