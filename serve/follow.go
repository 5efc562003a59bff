package serve

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

const (
	notificationTask = "notifications/tasks"
	// maxFollowed limits the tasks that one request follows: each is polled.
	maxFollowed = 50
	// followInterval is the pause between two polls of the followed tasks.
	followInterval = 500 * time.Millisecond
)

// subscriptionIDs returns the taskIds that a request subscribes to; nil if it has no such member.
func (m *message) subscriptionIDs() (ids json.RawMessage) {
	var notifications json.RawMessage
	scan(m.rawParams, []memberTarget{{"notifications", &notifications}})
	scan(notifications, []memberTarget{{"taskIds", &ids}})
	return ids
}

// followMethod answers subscriptions/listen if it follows tasks.
var followMethod = &method{standIn: mcp.MethodToolsList, handle: (*Server).follow}

// followsTasks reports whether the request subscribes to tasks. mcp-go does not support that.
func (m *message) followsTasks() bool {
	return m.method == mcp.MethodSubscriptionsListen && m.subscriptionIDs() != nil
}

// follow notifies the client of the progress of tasks until all have ended, and appends the end. It
// ignores other subscriptions of the request, and omits them in the acknowledgement.
func (s *Server) follow(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	var ids []string
	switch {
	case !r.modern():
		return nil, &protocolError{code: mcp.METHOD_NOT_FOUND, message: "Method subscriptions/listen not found"}
	case !r.takesTasks():
		return nil, lacksTasks
	case json.Unmarshal(r.subscriptionIDs(), &ids) != nil:
		return nil, &protocolError{code: mcp.INVALID_PARAMS, message: "notifications.taskIds must be a list of texts"}
	}
	accepted := []string{}
	for _, id := range ids {
		if _, failed := s.find(ctx, r, id); failed == nil && len(accepted) < maxFollowed && !slices.Contains(accepted, id) {
			accepted = append(accepted, id)
		}
	}
	meta := ordered.Map{{Key: mcp.MetaKeySubscriptionID, Value: r.id}}
	r.notify(string(mcp.MethodNotificationSubscriptionsAcknowledged), ordered.Map{
		{Key: "notifications", Value: ordered.Map{{Key: "taskIds", Value: accepted}}}, {Key: "_meta", Value: meta},
	})
	last := map[string]Task{}
	for open := accepted; ; {
		open = slices.DeleteFunc(open, func(id string) (ended bool) {
			t, found, err := s.tasks.Find(ctx, id)
			if err != nil || !found { // it cannot be read now, or was removed
				return err == nil
			}
			if before, known := last[id]; !known || !t.sameAs(before) {
				last[id] = t
				members, refused := s.taskDetail(ctx, r, t)
				if refused != nil {
					return true
				}
				members.Set("_meta", meta)
				r.notify(notificationTask, members)
			}
			return t.Status.final()
		})
		if len(open) == 0 || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(followInterval):
		}
	}
	text := ordered.MustJSON(meta)
	t := admission{meta: r.admission.meta}
	return t.append(append(out, `"resultType":"complete"`...), text[1:len(text)-1]), nil
}

// sameAs reports whether a task has nothing new to report.
func (t Task) sameAs(before Task) bool {
	return t.Status == before.Status && t.Message == before.Message &&
		slices.EqualFunc(t.Asks, before.Asks, func(a, b TaskQuestion) bool { return a.Key == b.Key })
}
