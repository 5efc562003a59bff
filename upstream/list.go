package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

const (
	maxPages   = 1000   // pages of a list
	maxNamed   = 10     // left-out entries that are named
	maxOffered = 10_000 // entries of a list other than the list of tools
)

// List asks for all lists of the server. It closes the session if the tools cannot be listed.
// [Answer.Problems] reports failures of the other lists.
func (s *Session) List(ctx context.Context) (Answer, error) {
	answer, err := s.listTools(ctx)
	if err != nil {
		return Answer{}, s.fail(ctx, err)
	}
	if more := len(answer.LeftOut) - maxNamed; more > 0 {
		answer.LeftOut = append(answer.LeftOut[:maxNamed], fmt.Sprintf("%d more entries are left out", more))
	}
	hello := s.session.InitializeResult()
	if hello == nil || hello.Capabilities == nil {
		return answer, nil
	}
	offers := hello.Capabilities
	var wait sync.WaitGroup
	var mu sync.Mutex
	ask := func(offered bool, method, member string, to *[]json.RawMessage) {
		if !offered {
			return
		}
		wait.Go(func() {
			list, err := s.listOf(ctx, method, member)
			mu.Lock()
			defer mu.Unlock()
			if *to = list; err != nil {
				answer.Problems = append(answer.Problems, fmt.Sprintf("%s: %s", method, err))
			}
		})
	}
	ask(offers.Prompts != nil, "prompts/list", "prompts", &answer.Prompts)
	ask(offers.Resources != nil, "resources/list", "resources", &answer.Resources)
	ask(offers.Resources != nil, "resources/templates/list", "resourceTemplates", &answer.Templates)
	wait.Wait()
	return answer, nil
}

// lacks reports whether an error means that the server does not have the method. Many servers declare
// resources but have no templates.
func lacks(err error) bool {
	refused, ok := errors.AsType[*ProtocolError](err)
	return ok && refused.Code == jsonrpc.CodeMethodNotFound
}

// listTools asks for all tools.
func (s *Session) listTools(ctx context.Context) (Answer, error) {
	select {
	case s.listing <- struct{}{}:
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	defer func() { <-s.listing }()
	answer := Answer{Tools: []json.RawMessage{}}
	if hello := s.session.InitializeResult(); hello != nil {
		answer.Instructions = hello.Instructions
		if hello.ServerInfo != nil {
			info := hello.ServerInfo
			answer.Name, answer.Title, answer.Description, answer.Version = info.Name, info.Title, info.Description, info.Version
		}
		answer.Legacy, answer.Protocol = s.legacy(), hello.ProtocolVersion
		if c := hello.Capabilities; c != nil && c.Tools == nil {
			if c.Prompts == nil && c.Resources == nil {
				answer.LeftOut = []string{"it declares no tools, prompts or resources in its capabilities"}
			}
			return answer, nil
		}
	}
	seen, cursor := map[string]bool{}, ""
	var last json.RawMessage
	for range maxPages {
		if _, err := s.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor}); err != nil {
			return Answer{}, err
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor json.RawMessage   `json:"nextCursor"`
		}
		params := s.gate.page()
		if last != nil && bytes.Equal(params, last) { // the server ignores the cursor, which is not a text
			answer.LeftOut = append(answer.LeftOut, "pages behind the first are not read: its cursor is no text and leads to the same page")
			s.hasListed.Store(true)
			return answer, nil
		}
		if err := json.Unmarshal(params, &page); err != nil || page.Tools == nil {
			answer.LeftOut = append(answer.LeftOut, "its answer to tools/list has no list of tools")
		}
		for i, tool := range page.Tools {
			if odd := oddity(tool); odd != "" {
				answer.LeftOut = append(answer.LeftOut, fmt.Sprintf("tool %s is left out: %s", nameOf(tool, i), odd))
			} else {
				answer.Tools = append(answer.Tools, tool)
			}
		}
		if cursor = cursorOf(page.NextCursor); cursor == "" {
			s.hasListed.Store(true)
			return answer, nil
		}
		if last = nil; kindOf(page.NextCursor) != "a text" {
			last = params
		}
		if seen[cursor] {
			break
		}
		seen[cursor] = true
	}
	return Answer{}, errors.New("the list of tools has no end")
}

// nameOf returns the name of an entry of a list, for messages to the user.
func nameOf(entry json.RawMessage, i int) string {
	var named struct{ Name string }
	if json.Unmarshal(entry, &named) != nil || named.Name == "" {
		return strconv.Itoa(i + 1)
	}
	return shorten.Quoted(named.Name)
}

// oddity explains why an entry of a list is not a tool; empty if it is one.
func oddity(entry json.RawMessage) (odd string) {
	named := false
	kind := func(member string, value []byte, kinds ...string) {
		if !slices.Contains(kinds, kindOf(value)) && string(value) != "null" && odd == "" {
			odd = fmt.Sprintf("its %s is %s and not %s", member, kindOf(value), kinds[0])
		}
	}
	is := ordered.Scan(entry, func(name []byte, start, end int) {
		switch value, member := entry[start:end], string(name); member {
		case "name":
			kind(member, value, "a text")
			text, _ := ordered.Text(value)
			named = named || text != ""
		case "title", "description":
			kind(member, value, "a text")
		case "inputSchema", "outputSchema":
			kind(member, value, "an object", "a boolean")
		case "annotations":
			ordered.Scan(value, func(name []byte, start, end int) {
				switch value, member := value[start:end], string(name); member {
				case "title":
					kind(member, value, "a text")
				case "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint":
					kind(member, value, "a boolean")
				}
			})
		}
	})
	switch {
	case !is:
		return "it is not an object"
	case odd == "" && !named:
		return "it has no name"
	}
	return odd
}

// kindOf returns the kind of a JSON value in words.
func kindOf(value []byte) string {
	switch value[0] {
	case '"':
		return "a text"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// legacy reports whether the server is known to answer initialize and not server/discover. A program
// that did not answer server/discover counts; a server at a URL may have been slow.
func (s *Session) legacy() bool {
	state := s.gate.state()
	return s.server.Legacy || !s.modern() && !state.discovered && (state.refused || s.server.Argv != nil)
}

// listOf fetches all pages of another list. On an error it also returns the entries before it.
func (s *Session) listOf(ctx context.Context, method, member string) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.server.OfferTimeout, DefaultOfferTimeout))
	defer cancel()
	list, seen, cursor := []json.RawMessage{}, map[string]bool{}, ""
	for range maxPages {
		params := ordered.Map{}
		if cursor != "" {
			params.Set("cursor", cursor)
		}
		result, err := s.Call(ctx, Call{Method: method, Params: ordered.MustJSON(params)})
		if lacks(err) {
			return list, nil
		} else if err != nil {
			return list, s.server.reason(err, "")
		}
		var page map[string]json.RawMessage
		var entries []json.RawMessage
		cursor = ""
		if err := json.Unmarshal(result, &page); err == nil {
			err = json.Unmarshal(page[member], &entries)
			_ = json.Unmarshal(page["nextCursor"], &cursor) // absent on the last page
			if err != nil {
				return list, fmt.Errorf("the answer has no list %s", member)
			}
		}
		list = append(list, entries...)
		switch {
		case len(list) > maxOffered:
			return list[:maxOffered], fmt.Errorf("it has more than %d entries: the rest is left out", maxOffered)
		case cursor == "":
			return list, nil
		case seen[cursor]:
			return list, errors.New("the list has no end")
		}
		seen[cursor] = true
	}
	return list, errors.New("the list has no end")
}

// Watch starts or ends the server's notifications about a resource, see [Client.Updated].
func (s *Session) Watch(ctx context.Context, uri string, watch bool) error {
	hello := s.session.InitializeResult()
	if hello == nil || hello.Capabilities == nil || hello.Capabilities.Resources == nil || !hello.Capabilities.Resources.Subscribe {
		return errors.New("it does not support resource subscriptions")
	}
	var err error
	if watch {
		err = s.watch(ctx, uri)
	} else {
		err = s.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
	}
	if err != nil {
		return s.server.reason(err, "")
	}
	return nil
}

// agreeTime is how long to wait for the acknowledgement of a subscription. Some servers never send it.
const agreeTime = 3 * time.Second

// watch subscribes to a resource. The library does not wait for the acknowledgement of a server of
// 2026-07-28, nor report its refusal.
func (s *Session) watch(ctx context.Context, uri string) error {
	w := s.gate.awaitAgreement(uri)
	err := s.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
	if sent := s.gate.wasSent(uri, w); !sent || err != nil {
		return err
	}
	select {
	case <-w.done:
	case <-time.After(agreeTime):
		return nil
	case <-s.gone:
		return nil // a new session subscribes again
	case <-ctx.Done():
		return ctx.Err()
	}
	if w.refusal != nil {
		_ = s.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}) // or the library would not subscribe again
	}
	return w.refusal
}
