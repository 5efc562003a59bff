package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/internal/ordered"
)

const (
	maxPages   = 1000             // of a list
	maxOffered = 10_000           // entries of a list besides that of the tools
	offerTime  = 10 * time.Second // for these lists: tools do not wait longer for them
)

// List asks for all that the server offers. A session that fails to list its tools is closed;
// of the other lists [Answer.Problems] says what was wrong.
func (s *Session) List(ctx context.Context) (Answer, error) {
	answer, err := s.listTools(ctx)
	if err != nil {
		return Answer{}, s.fail(ctx, err)
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

// listTools asks for all tools. The library keeps pages for as long as the server allows, and
// then asks for none: they are kept here too, as they were sent.
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
			answer.Name = hello.ServerInfo.Name
		}
		if hello.Capabilities != nil && hello.Capabilities.Tools == nil {
			return answer, nil
		}
	}
	seen, cursor := map[string]bool{}, ""
	for range maxPages {
		s.tap.forgetPage()
		page, err := s.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return Answer{}, err
		}
		if sent := s.tap.page(); sent != nil {
			s.pages[cursor] = sent
		}
		var raw struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(s.pages[cursor], &raw); err != nil {
			return Answer{}, fmt.Errorf("reading the list of tools: %w", err)
		}
		answer.Tools = append(answer.Tools, raw.Tools...)
		if cursor = page.NextCursor; cursor == "" {
			s.listed.Store(true)
			return answer, nil
		}
		if seen[cursor] {
			break
		}
		seen[cursor] = true
	}
	return Answer{}, errors.New("the list of tools has no end")
}

// listOf asks for all of another list; with an error it returns what came before it.
func (s *Session) listOf(ctx context.Context, method, member string) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	list, seen, cursor := []json.RawMessage{}, map[string]bool{}, ""
	for range maxPages {
		params := ordered.Map{}
		if cursor != "" {
			params.Set("cursor", cursor)
		}
		result, err := s.Call(ctx, Call{Method: method, Params: ordered.MustJSON(params)})
		if err != nil {
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

// Watch asks the server to tell of changes of a resource, see [Client.Updated], or to tell no
// more.
func (s *Session) Watch(ctx context.Context, uri string, watch bool) error {
	hello := s.session.InitializeResult()
	if hello == nil || hello.Capabilities == nil || hello.Capabilities.Resources == nil || !hello.Capabilities.Resources.Subscribe {
		return errors.New("it does not tell of changed resources")
	}
	var err error
	if watch {
		err = s.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
	} else {
		err = s.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
	}
	if err != nil {
		return s.server.reason(err, "")
	}
	return nil
}
