package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/words"
)

// Limits of the sessions beside the results of a search.
const (
	maxSessions     = 3   // sessions
	maxSessionText  = 160 // characters of a task or note
	maxSessionWords = 10  // words that session.list takes
	maxSessionQuery = 200 // characters that session.list takes
)

// sessions returns the sessions with all words of a search, and the number of such sessions. It
// finds none for callers who may not list sessions, and on servers without them. If session.list
// refuses the call for another reason, the answer has a warning. Sessions have no namespace, key or
// tags, so a search limited by these has no sessions; later pages repeat none.
func (s *Service) sessions(ctx context.Context, in SearchIn) (list []FoundSession, total int, err error) {
	limited := in.Cursor != "" || in.Namespace != "" || in.Prefix != "" || len(in.Tags) > 0 || in.Workspace != ""
	query := sessionQuery(in.Query)
	if s.Caller == nil || limited || query == "" {
		return nil, 0, nil
	}
	found, err := toolfold.Do[struct {
		Sessions []struct {
			FoundSession
			HandOver struct{ Note string }
		}
		Total int
	}](ctx, s.Caller, "session.list", map[string]any{"query": query, "limit": maxSessions, callctx.ArgFields: []string{
		"sessions.sessionId", "sessions.task", "sessions.status", "sessions.workspace", "sessions.handover.note", "total",
	}})
	var refused *toolfold.Error
	switch {
	case errors.As(err, &refused) && (refused.Code == toolfold.PermissionDenied || refused.Code == toolfold.UnknownTool):
		return nil, 0, nil
	case refused != nil:
		callctx.Warn(ctx, "sessions were not searched: "+refused.Error())
		return nil, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("looking for sessions: %w", err)
	}
	for _, each := range found.Sessions {
		each.Task, each.Note = shorten.Words(each.Task, maxSessionText), shorten.Words(each.HandOver.Note, maxSessionText)
		list = append(list, each.FoundSession)
	}
	return list, found.Total, nil
}

// sessionQuery returns the words of a search as session.list takes them: without quotes,
// punctuation around words and words of grammar. It is empty if no word is left, or if they are
// more than session.list takes: a session must have them all.
func sessionQuery(query string) string {
	var list []string
	for _, word := range strings.Fields(strings.ReplaceAll(query, `"`, " ")) {
		word = strings.TrimFunc(word, func(r rune) bool { return unicode.IsPunct(r) })
		if word != "" && !words.IsStop(strings.ToLower(word)) {
			list = append(list, word)
		}
	}
	text := strings.Join(list, " ")
	if len(list) > maxSessionWords || utf8.RuneCountInString(text) > maxSessionQuery {
		return ""
	}
	return text
}
