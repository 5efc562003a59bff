package storage

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold/engine/queue"
)

// taskColumns are what scanTask reads.
const taskColumns = `id, queue_id, status, priority, turn, attempt, max_attempts, timeout_ms,
	created_at, scheduled_at, started_at, ended_at, type, agent_id, name, description, tags, dependencies, error, input, output`

func scanTask(rows *sql.Rows) (t queue.Task, err error) {
	var rank, timeout, created int64
	var scheduled, started, ended sql.Null[int64]
	var agent, name, description, tags, dependencies, failure, input, output []byte
	err = rows.Scan(&t.ID, &t.QueueID, &t.Status, &rank, &t.Turn, &t.Attempt, &t.MaxAttempts, &timeout,
		&created, &scheduled, &started, &ended, &t.Type, &agent, &name, &description, &tags, &dependencies,
		&failure, &input, &output)
	if err != nil {
		return t, err
	}
	t.Priority = priorityOf(rank)
	t.Timeout = time.Duration(timeout) * time.Millisecond
	t.CreatedAt, t.ScheduledAt = fromMicros(created), maybeTime(scheduled)
	t.StartedAt, t.EndedAt = maybeTime(started), maybeTime(ended)
	t.AgentID, t.Name, t.Description, t.Error = string(agent), string(name), string(description), string(failure)
	t.Input, t.Output = input, output
	if err := json.Unmarshal(tags, &t.Tags); err != nil {
		return t, err
	}
	return t, json.Unmarshal(dependencies, &t.Dependencies)
}

// rankOf is a priority as it is stored, so that the most urgent comes first.
func rankOf(priority string) int { return 1 + slices.Index(queue.Priorities(), priority) }

func priorityOf(rank int64) string { return queue.Priorities()[rank-1] }

// among is a condition that a column has one of the values, of which there is
// at least one.
func among[V any](column string, values []V) query {
	q := query{text: column + " IN (?" + strings.Repeat(", ?", len(values)-1) + ")"}
	for _, v := range values {
		q.args = append(q.args, v)
	}
	return q
}

// bytesOf are texts as they are stored.
func bytesOf(texts []string) [][]byte {
	list := make([][]byte, len(texts))
	for i, text := range texts {
		list[i] = []byte(text)
	}
	return list
}

// with adds another query.
func (q query) with(other query) query { return q.and(other.text, other.args...) }

func scanText(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) }
