package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// breakage is one thing that a server does wrong.
type breakage struct {
	name   string
	heavy  bool   // too costly for servers to get it by chance
	legacy bool   // has no meaning in 2026-07-28
	on     string // the only transport on which it has a meaning; empty = all
	// spares lists the transports on which a lenient client loses nothing.
	spares []string
	set    func(*foreigner)
}

var (
	lines  = []string{onStdio}
	parts  = []string{onStdio, onEvents, onSSE} // each message arrives separately
	bodies = []string{onJSON, onEvents, onSSE}  // messages do not end with their line
)

// breakages holds all of them. Servers take their first breakage in turn, by number, and more by
// chance.
var breakages = []breakage{
	// Bytes.
	{name: "BOM", spares: lines, set: wraps("\ufeff", "")},
	{name: "CRLF", spares: parts, set: wraps("", "\r")},
	{name: "NUL before", set: wraps("\x00", "")},
	{name: "invalid UTF-8", set: replaces("mark-", "m\xff\xfe\x80ark-")},
	{name: "banner", spares: parts, set: before("Server v1.2 listens\n\x1b[32mINFO\x1b[0m ready")},
	{name: "banner at the start", spares: lines, on: onStdio, set: opens("Server v1.2 listens\n\n")},
	{name: "spinner", set: wraps("\rLoading 10%\rLoading 100%\r", "")},
	{name: "text on the first line", spares: lines, on: onStdio, set: opens("Loading model... ")},
	{name: "text behind", set: wraps("", " done.")},
	{name: "logs in JSON", spares: parts, set: before("{\"level\":\"info\",\"msg\":\"x\"}\n[1,2,3]\n42\n\"text\"\nnull")},
	{name: "UTF-16", set: eachMessage(func(_ request, m string) string {
		return "\xff\xfe" + strings.Join(strings.Split(m, ""), "\x00") + "\x00"
	})},

	// Framing.
	{name: "two messages on a line", spares: lines, set: eachMessage(func(_ request, m string) string { return note + m })},
	{name: "two answers on a line", set: eachMessage(func(_ request, m string) string { return m + m })},
	{name: "indented", spares: bodies, set: indents("\n")},
	{name: "indented, CRLF", set: indents("\r\n")},
	{name: "lines between members", spares: bodies, set: replaces(`,"`, ",\n\n\"")},
	{name: "unfinished {", set: before("{")},
	{name: "unfinished message", set: before(`{"jsonrpc":"2.0","id":`)},
	{name: "array", set: wraps("[", "]")},
	{name: "array of two", set: wraps("["+note+",", "]")},
	{name: "blank lines", spares: parts, set: wraps("\n \n\t\n", "\n\n")},
	{name: "cut", set: eachMessage(func(_ request, m string) string { return m[:len(m)*2/3] })},
	{name: "long line", set: replaces("mark-", strings.Repeat("x", 3<<20)+"mark-")},

	// JSON.
	{name: "NaN", set: structured(`NaN`)},
	{name: "Infinity", set: structured(`[1,-Infinity]`)},
	{name: "1e999", set: structured(`1e999`)},
	{name: "duplicate members", set: eachMessage(func(r request, m string) string {
		return strings.Replace(m, `"id"`, fmt.Sprintf(`"id":1,"ID":2,"Id":%s,"id"`, r.ID), 1)
	})},
	{name: "duplicate result", set: replaces(`"result":{`, `"result":{},"Result":5,"result":{"content":[],`)},
	{name: "deep", set: structured(strings.Repeat("[", 12_000) + strings.Repeat("]", 12_000))},
	{name: "deep objects", set: structured(strings.Repeat(`{"a":`, 3_000) + "1" + strings.Repeat("}", 3_000))},
	{name: "trailing comma", set: replaces(`"result":{`, `"result":{"x":[1,],`)},
	{name: "comment", set: replaces(`"result"`, `/* the */ "result"`)},
	{name: "lone surrogate", set: structured(`"\ud800"`)},
	{name: "control character", set: replaces("mark-", "\t\x01mark-")},

	// Ids.
	{name: "id null", set: withID(`null`)},
	{name: "id missing", set: eachMessage(func(r request, m string) string {
		return strings.Replace(m, fmt.Sprintf(`"id":%s,`, r.ID), "", 1)
	})},
	{name: "id fractional", set: withID(`%s.5`)},
	{name: "id 1e30", set: withID(`1e30`)},
	{name: "id text", set: withID(`"%s"`)},
	{name: "id as float", set: withID(`%s.0`)},
	{name: "id object", set: withID(`{"id":%s}`)},
	{name: "ids of other requests", set: ahead(func(r request) []string {
		var messages []string
		for id := range 40 {
			messages = append(messages, answerOf(fmt.Sprint(id+1), `"result":{"content":[{"type":"text","text":"another's"}]}`))
		}
		return messages
	})},
	{name: "odd ids too", spares: parts, set: ahead(func(r request) []string {
		var messages []string
		for _, id := range []string{`null`, `1.5`, `1e30`, `"x"`, `-7`, `true`, `[]`, `99999`} {
			messages = append(messages, answerOf(id, `"result":{}`))
		}
		return append(messages, `{"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no id"}}`)
	})},
	{name: "answered twice", spares: parts, set: after(func(_ request, m string) []string { return []string{m, m} })},

	// Kinds.
	{name: "error in reply to notifications", legacy: true, spares: parts,
		set: notices(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`)},
	{name: "result in reply to notifications", legacy: true, spares: parts, set: notices(`{"jsonrpc":"2.0","id":null,"result":{}}`)},
	{name: "reply to notifications without id", legacy: true, spares: parts,
		set: notices(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}`)},
	{name: "asks the user", set: asks("elicitation/create")},
	{name: "asks the model", set: asks("sampling/createMessage")},
	{name: "asks for roots and pings", legacy: true, set: asks("roots/list", "ping")},
	{name: "asks the unknown", set: asks("vendor/thing", "tools/list")},
	{name: "asks at the start", // a running call is then asked
		set: opening(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
	{name: "list_changed at the start", spares: parts, set: opening(note, changed, pause)},
	{name: "list_changed before anything", spares: lines, on: onStdio,
		set: func(f *foreigner) {
			opens(note + "\n" + changed + "\n")(f)
			opening(pause)(f)
		}},
	{name: "bad notifications", spares: parts, set: ahead(func(request) []string { return badNotes })},

	// Shapes of answers.
	{name: "error is a text", set: fails(`"error":"out of order"`)},
	{name: "code is a text", set: fails(`"error":{"code":"ECONN","message":"out of order"}`)},
	{name: "code is a float", set: fails(`"error":{"code":-32050.0,"message":"out of order"}`)},
	{name: "error without code", set: fails(`"error":{"message":"out of order","data":{"a":"` + "\\n" + `"}}`)},
	{name: "error null", set: fails(`"error":null`)},
	{name: "no result", set: fails(`"x":1`)},
	{name: "result and error", set: replaces(`"result":`, `"error":{"code":-32050,"message":"both"},"result":`)},
	{name: "result null", set: resultIs(`null`)},
	{name: "result a list", set: resultIs(`[]`)},
	{name: "result a text", set: resultIs(`"done"`)},
	{name: "result {}", set: resultIs(`{}`)},
	{name: "jsonrpc 1.0", set: replaces(`"jsonrpc":"2.0"`, `"jsonrpc":"1.0"`)},
	{name: "jsonrpc missing", set: replaces(`"jsonrpc":"2.0",`, ``)},
	{name: "odd content",
		set: resultIs(`{"content":null,"contents":{},"messages":"none","completion":[],"isError":"yes","structuredContent":7,"_meta":3}`)},
	{name: "odd blocks", set: resultIs(`{"content":[null,5,{"type":"unheard"},{"text":9,"type":"text"}],"contents":[null,{"uri":3}],` +
		`"messages":[1,{"role":5}],"completion":{"values":[1,null],"total":"x","hasMore":"y"}}`)},

	// Shapes of lists and of results that open a session.
	{name: "odd tools", spares: transports,
		set: lists("tools", `null`, `5`, `{}`, `{"name":5,"inputSchema":{"type":"object"}}`,
			`{"name":"","inputSchema":{}}`,
			`{"name":"hint","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"true"}}`, `{"name":"bare"}`,
			`{"name":"described","description":7,"inputSchema":{"type":"object"}}`, `{"name":"schemaless","inputSchema":null}`,
			`{"name":"worded","inputSchema":"object"}`, `{"name":"beta","inputSchema":{"type":"object"}}`,
			`{"name":"line\nbreak","inputSchema":{"type":"object"}}`)},
	{name: "odd prompts", spares: transports,
		set: lists("prompts", `null`, `"x"`, `{}`, `{"name":8}`, `{"name":"odd","arguments":{"a":1}}`, `{"name":"ask"}`,
			`{"name":"two","arguments":[null,{"name":3}]}`)},
	{name: "odd resources", spares: transports,
		set: lists("resources", `null`, `[]`, `{"uri":9}`, `{"uri":"","name":""}`, `{"uri":"no uri","name":5,"size":"big"}`,
			`{"uri":"toolfold://memory/default/x","name":"ours"}`)},
	{name: "odd templates", spares: transports,
		set: lists("resourceTemplates", `null`, `{"uriTemplate":3}`, `{"uriTemplate":"{+x}{unclosed","name":"x"}`)},
	{name: "nextCursor 8", spares: transports, set: pages(8)},
	{name: "nextCursor that stays", set: pages("same")},
	{name: "nextCursor object", spares: transports, set: pages(map[string]any{"a": 1})},
	{name: "list is null", set: listIs(nil)},
	{name: "list is an object", set: listIs(map[string]any{"alpha": map[string]any{}})},
	{name: "tools: true", spares: transports,
		set: hello("capabilities", map[string]any{"tools": true, "prompts": "yes", "resources": []any{}})},
	{name: "capabilities null", set: hello("capabilities", nil)},
	{name: "capabilities a list", set: hello("capabilities", []string{"tools"})},
	{name: "serverInfo a text", spares: transports, set: hello("serverInfo", "mine")},
	{name: "version a number", spares: transports, set: hello("serverInfo", map[string]any{"name": 1, "version": 1})},
	{name: "odd protocolVersion", set: func(f *foreigner) { hello("protocolVersion", 7)(f); hello("supportedVersions", "all")(f) }},

	// Schemas of tools.
	{name: "root oneOf", spares: transports,
		set: schema(`{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`)},
	{name: "root not", spares: transports, set: schema(`{"type":"object","properties":{"a":{}},"not":{"required":["a"]}}`)},
	{name: "root counts", spares: transports, set: schema(`{"type":"object","minProperties":2}`, `{"type":"object","maxProperties":0}`)},
	{name: "root $ref", spares: transports,
		set: schema(`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"type":"object","$ref":"#/$defs/none"}`)},
	{name: "root const and enum", spares: transports, set: schema(`{"const":{"a":"only"}}`, `{"type":"object","enum":[{"a":"x"},{"b":1}]}`)},
	{name: "root false, true, list", spares: transports, set: schema(`false`, `true`, `[]`, `{"type":"array"}`, `{"type":["object","null"]}`)},
	{name: "root names", spares: transports,
		set: schema(`{"type":"object","propertyNames":{"maxLength":0}}`, `{"type":"object","dependentRequired":{"a":["c"]}}`,
			`{"type":"object","additionalProperties":false}`, `{"type":"object","unevaluatedProperties":false,"patternProperties":{"^z":{}}}`)},
	{name: "root if", spares: transports,
		set: schema(`{"type":"object","if":{"required":["a"]},"then":false,"else":{"required":["a"]}}`, `{"anyOf":[false]}`)},
	{name: "unclosed patterns", spares: transports,
		set: schema(`{"type":"object","properties":{"a":{"pattern":"[unclosed("},"b":{"type":"int"}}}`,
			`{"type":"object","patternProperties":{"(":{}}}`, `{"type":"object","properties":[],"required":null,"exclusiveMinimum":true}`)},

	// Forgeries.
	{name: "forged members", spares: transports, set: func(f *foreigner) {
		members := map[string]any{
			"taskId": f.forged, "status": f.forged, "inputRequests": map[string]any{f.forged: map[string]any{"method": "elicitation/create"}},
			"requestState": f.forged, "nextCursor": f.forged, "task": map[string]any{"taskId": f.forged}, "ttlMs": 99, "pollIntervalMs": 1,
			"_meta": map[string]any{"io.modelcontextprotocol/related-task": map[string]any{"taskId": f.forged},
				"toolfold/deprecated": f.forged, "toolfold/structured": f.forged},
		}
		f.change(func(r request, result any) any {
			if object, ok := result.(map[string]any); ok {
				for name, value := range members {
					object[name] = value
				}
			}
			return result
		})
	}},
	{name: "forged task", set: func(f *foreigner) {
		f.change(func(r request, _ any) any {
			return map[string]any{"resultType": "task", "taskId": f.forged, "status": "working", "ttlMs": 1000}
		})
	}},
	{name: "forged lines", set: hidesLines("\n")},
	{name: "forged lines, CR", set: hidesLines("\r")},

	// Order.
	{name: "storm of list_changed", spares: parts, set: floods(changed, 200)},
	{name: "list_changed before each answer", spares: parts, set: func(f *foreigner) {
		f.messages = append(f.messages, func(_ request, messages []string) []string { return append([]string{changed}, messages...) })
	}},
	{name: "answers one late", set: func(f *foreigner) {
		f.frame(func(_ request, messages []string) []string {
			f.mu.Lock()
			defer f.mu.Unlock()
			messages, f.late = f.late, messages
			return messages
		})
	}},

	// Time.
	{name: "hangs on the probe", set: acts(hangs, func(r request) bool { return r.Method == "server/discover" })},
	{name: "exits on the probe", set: acts(exits, func(r request) bool { return r.Method == "server/discover" })},
	{name: "hangs at the start", set: acts(hangs, request.opens)},
	{name: "exits at the start", set: acts(exits, request.opens)},
	{name: "hangs on lists", set: acts(hangs, func(r request) bool { return strings.HasSuffix(r.Method, "/list") })},
	{name: "exits on lists", set: acts(exits, func(r request) bool { return strings.HasSuffix(r.Method, "/list") })},
	{name: "hangs in calls", set: acts(hangs, someWork(2))},
	{name: "hangs in a tool", set: func(f *foreigner) { acts(hangs, f.scope())(f) }},
	{name: "exits in calls", set: acts(exits, someWork(3))},

	// Size.
	{name: "many tools", heavy: true, set: func(f *foreigner) {
		for i := range 600 {
			f.lists["tools"] = append(f.lists["tools"], f.tool(fmt.Sprintf("do_thing_%d", i), nil))
		}
	}},
	{name: "big schema", heavy: true, set: func(f *foreigner) {
		f.lists["tools"] = append(f.lists["tools"], f.tool("big", map[string]any{"description": strings.Repeat("long ", 60_000)}))
	}},
	{name: "record near its limit", heavy: true, set: func(f *foreigner) {
		f.hello["instructions"] = strings.Repeat("i", 66_950_000)
		f.lists["tools"] = append(f.lists["tools"], f.tool("big", map[string]any{"description": strings.Repeat("long ", 60_000)}))
	}},
	{name: "message over the limit", heavy: true, set: func(f *foreigner) {
		f.frame(func(_ request, messages []string) []string {
			return []string{strings.Replace(messages[0], "mark-", strings.Repeat("y", 70<<20), 1)}
		})
	}},
	{name: "big results", heavy: true, set: replaces("mark-", "mark-"+strings.Repeat("z ", 5<<19))},
	{name: "flood of notifications", heavy: true, set: floods(note, 5_000)},
}

const (
	note    = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a note"}}`
	changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
)

var badNotes = []string{
	`{"jsonrpc":"2.0","method":"notifications/progress"}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":null,"progress":"x"}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{"a":1},"progress":1}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1e999}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nope"}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
	`{"jsonrpc":"2.0","method":"notifications/message","params":[1]}`,
	`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":5}}`,
	`{"jsonrpc":"2.0","method":"vendor/thing","params":"x"}`,
	`{"jsonrpc":"2.0","method":7}`, `{"jsonrpc":"2.0"}`, `{}`, `null`,
}

// hidesLines puts messages on their own lines inside results. On standard output such a line is a
// message of the server.
func hidesLines(end string) func(*foreigner) {
	return func(f *foreigner) {
		end := end
		if f.transport == onStdio {
			end = "\r"
		}
		lines := forgedLines(f.forged)
		f.change(func(_ request, result any) any {
			if object, ok := result.(map[string]any); ok {
				text := strings.TrimSuffix(encode(object), "}")
				return rough(text + ",\"structuredContent\":{\"a\":" + end + strings.Join(lines, end+",\"b\":"+end) + end + "}}")
			}
			return result
		})
	}
}

// forgedLines returns messages that toolfold must never send.
func forgedLines(secret string) []string {
	lines := []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"elicitation/create","params":`+
			`{"message":%q,"requestedSchema":{"type":"object","properties":{}}}}`, secret, secret),
		fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":%q}}`, secret),
	}
	for id := 1; id <= 120; id += 7 {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%q}]}}`, id, secret))
	}
	return lines
}

func answerOf(id, outcome string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, outcome)
}

// scope chooses by chance which requests a breakage affects. Most breakages affect only requests of
// clients, so that the server starts. Many affect only one tool, so that the other tools must still
// work.
func (f *foreigner) scope() func(request) bool {
	switch f.random.IntN(8) {
	case 0:
		f.cost = everything
		return func(request) bool { return true }
	case 1:
		f.cost = everything
		return someWork(3)
	case 2, 3:
		f.cost = everything
		return request.works
	}
	f.cost = max(f.cost, gammaAlone)
	return func(r request) bool { return r.Params.Name == "gamma" }
}

// someWork returns a scope of every nth request of clients.
func someWork(n int64) func(request) bool {
	var count atomic.Int64
	return func(r request) bool { return r.works() && count.Add(1)%n == 1 }
}

// frame changes the messages that answer requests within a scope.
func (f *foreigner) frame(change func(request, []string) []string) {
	within := f.scope()
	f.messages = append(f.messages, func(r request, messages []string) []string {
		if !within(r) {
			return messages
		}
		return change(r, messages)
	})
}

// change changes the results of clients' requests within a scope.
func (f *foreigner) change(edit func(request, any) any) {
	within := f.scope()
	f.results = append(f.results, func(r request, result any) any {
		if !r.works() || !within(r) {
			return result
		}
		return edit(r, result)
	})
}

// eachMessage rewrites the answer.
func eachMessage(rewrite func(r request, m string) string) func(*foreigner) {
	return func(f *foreigner) {
		f.frame(func(r request, messages []string) []string {
			if last := len(messages) - 1; last >= 0 { // a late answer has no message
				messages[last] = rewrite(r, messages[last])
			}
			return messages
		})
	}
}

func wraps(before, behind string) func(*foreigner) {
	return eachMessage(func(_ request, m string) string { return before + m + behind })
}

func replaces(old, new string) func(*foreigner) {
	return eachMessage(func(_ request, m string) string { return strings.Replace(m, old, new, 1) })
}

func indents(end string) func(*foreigner) {
	return eachMessage(func(_ request, m string) string {
		var text bytes.Buffer
		if json.Indent(&text, []byte(m), "", "  ") != nil {
			return m
		}
		return strings.ReplaceAll(text.String(), "\n", end)
	})
}

// withID replaces the id; %s in form is the right id.
func withID(form string) func(*foreigner) {
	return eachMessage(func(r request, m string) string {
		id := strings.ReplaceAll(form, "%s", strings.Trim(string(r.ID), `"`))
		return strings.Replace(m, fmt.Sprintf(`"id":%s`, r.ID), `"id":`+id, 1)
	})
}

// before sends a text as a separate line or event before the answer.
func before(text string) func(*foreigner) {
	return ahead(func(request) []string { return []string{text} })
}

func ahead(more func(request) []string) func(*foreigner) {
	return func(f *foreigner) {
		f.frame(func(r request, messages []string) []string { return append(more(r), messages...) })
	}
}

// floods sends a message many times before the answer.
func floods(message string, times int) func(*foreigner) {
	return ahead(func(request) []string { return slices.Repeat([]string{message}, times) })
}

func after(more func(request, string) []string) func(*foreigner) {
	return func(f *foreigner) {
		f.frame(func(r request, messages []string) []string {
			if len(messages) == 0 {
				return nil
			}
			return append(messages, more(r, messages[len(messages)-1])...)
		})
	}
}

func opens(text string) func(*foreigner) { return func(f *foreigner) { f.opening += text } }

// opening sends messages before the answer that opens the session.
func opening(texts ...string) func(*foreigner) {
	return func(f *foreigner) {
		f.messages = append(f.messages, func(r request, messages []string) []string {
			if !r.opens() {
				return messages
			}
			return slices.Concat(texts, messages)
		})
	}
}

func notices(reply string) func(*foreigner) {
	return func(f *foreigner) { f.replies = append(f.replies, reply) }
}

// asks lets calls ask the client: by requests in the older era, by a result in the newer one.
func asks(methods ...string) func(*foreigner) {
	return func(f *foreigner) {
		if !f.modern {
			f.asks = append(f.asks, methods...)
			return
		}
		f.change(func(r request, result any) any {
			if r.Params.InputResponses != nil {
				return result
			}
			inputs := map[string]any{}
			for _, method := range methods {
				inputs[method] = map[string]any{"method": method, "params": json.RawMessage(f.question(method))}
			}
			return map[string]any{"resultType": "input_required", "inputRequests": inputs, "requestState": "kept"}
		})
	}
}

// fails replaces the result.
func fails(outcome string) func(*foreigner) {
	return eachMessage(func(r request, m string) string {
		if !strings.Contains(m, `"result"`) {
			return m
		}
		return answerOf(string(r.ID), outcome)
	})
}

func resultIs(text string) func(*foreigner) {
	return func(f *foreigner) {
		f.change(func(r request, _ any) any {
			if f.modern && strings.HasPrefix(text, "{\"") {
				return rough(`{"resultType":"complete",` + text[1:])
			}
			return rough(text)
		})
	}
}

func structured(value string) func(*foreigner) {
	return func(f *foreigner) {
		f.change(func(r request, result any) any {
			return rough(strings.TrimSuffix(encode(result), "}") + `,"structuredContent":{"v":` + value + `}}`)
		})
	}
}

func lists(member string, entries ...string) func(*foreigner) {
	return func(f *foreigner) {
		for _, entry := range entries {
			f.lists[member] = append(f.lists[member], json.RawMessage(entry))
		}
		f.random.Shuffle(len(f.lists[member]), func(i, j int) {
			list := f.lists[member]
			list[i], list[j] = list[j], list[i]
		})
	}
}

func pages(cursor any) func(*foreigner) {
	return listing(func(result map[string]any, _ string) { result["nextCursor"] = cursor })
}

func listIs(value any) func(*foreigner) {
	return listing(func(result map[string]any, member string) { result[member] = value })
}

func listing(edit func(result map[string]any, member string)) func(*foreigner) {
	return func(f *foreigner) {
		only := []string{"tools", "prompts", "resources"}[f.random.IntN(3)]
		f.results = append(f.results, func(r request, result any) any {
			if object, ok := result.(map[string]any); ok && r.Method == only+"/list" {
				edit(object, only)
			}
			return result
		})
	}
}

func hello(member string, value any) func(*foreigner) {
	return func(f *foreigner) {
		if _, has := f.hello[member]; has || member != "protocolVersion" && member != "supportedVersions" {
			f.hello[member] = value
		}
	}
}

// schema adds a tool for each schema.
func schema(schemas ...string) func(*foreigner) {
	return func(f *foreigner) {
		for i, text := range schemas {
			f.lists["tools"] = append(f.lists["tools"],
				map[string]any{"name": fmt.Sprintf("schema%d", i), "description": "Has a schema.", "inputSchema": json.RawMessage(text)})
		}
	}
}

func acts(what act, within func(request) bool) func(*foreigner) {
	return func(f *foreigner) {
		f.acts = append(f.acts, func(r request) act {
			if within(r) {
				return what
			}
			return answers
		})
	}
}
