package queue

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/tools/task"
)

// Limits of questions of task calls to their clients.
const (
	maxQuestion     = 1 << 20   // bytes of a question's params
	maxQuestions    = 100       // of a task
	maxPendingCalls = 32        // waiting calls of a process; each keeps its place in the queue
	patience        = time.Hour // wait for an answer, from the first time it was asked
)

// runQuestions stores the questions of one run of a task call to its client. A question that an
// earlier run asked in the same words is not repeated: its answer is used when it arrives.
type runQuestions struct {
	*activeWorker
	run    Run
	within context.Context // of the run

	mu      sync.Mutex
	ownKeys map[string]bool // keys of this run's questions
}

func (s *activeWorker) questionsOf(within context.Context, t task.Task) *runQuestions {
	return &runQuestions{activeWorker: s, run: Run{t.ID, t.Turn}, within: within, ownKeys: map[string]bool{}}
}

// ask returns the client's answer to a question. It waits for it.
func (a *runQuestions) ask(ctx context.Context, question serve.TaskQuestion) (json.RawMessage, error) {
	if len(question.Params) > maxQuestion {
		return nil, toolfold.Errorf(toolfold.LimitReached, "the question has %d bytes, and at most %d are kept with a task",
			len(question.Params), maxQuestion).WithHint("call it from a client that takes no tasks")
	}
	if a.questions.Add(1) > maxPendingCalls {
		a.questions.Add(-1)
		return nil, toolfold.Errorf(toolfold.LimitReached, "%d calls of this process wait for answers of their clients", maxPendingCalls).
			WithHint("answer or cancel some, then call again")
	}
	defer a.questions.Add(-1)
	q, err := a.keep(ctx, question)
	if err != nil {
		return nil, err
	}
	if q.Answer != nil {
		return q.Answer, nil
	}
	a.runs.note(a.run, func(p *task.Progress) { p.Say("waits for its client to answer " + q.Method) })
	answer, err := a.await(ctx, q)
	if err != nil && a.within.Err() == nil { // otherwise the next run of the task may ask again
		limited, done := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
		defer done()
		if err := a.ledger.DropQuestion(limited, a.run, q.Key); err != nil {
			a.warn(limited, "removing a question", err)
		}
	}
	return answer, err
}

// keep returns the stored question: that of an earlier run, or a new one.
func (a *runQuestions) keep(ctx context.Context, question serve.TaskQuestion) (q task.Question, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	limited, done := context.WithTimeout(ctx, answerWithin)
	defer done()
	questions, err := a.ledger.Questions(limited, a.run.TaskID)
	if err != nil {
		return q, fmt.Errorf("reading earlier questions: %w", err)
	}
	taken := map[string]bool{}
	for _, q := range questions {
		if !a.ownKeys[q.Key] && q.Method == question.Method && bytes.Equal(q.Params, question.Params) {
			a.ownKeys[q.Key] = true
			return q, nil
		}
		taken[q.Key] = true
	}
	if len(questions) >= maxQuestions {
		return q, toolfold.Errorf(toolfold.LimitReached, "a task asks its client %d questions at most", maxQuestions)
	}
	name := cmp.Or(question.Key, "question")
	q = task.Question{Key: name, Method: question.Method, Params: question.Params, AskedAt: a.options.Now()}
	for n := 2; taken[q.Key]; n++ {
		q.Key = fmt.Sprintf("%s-%d", name, n)
	}
	saved, err := a.ledger.KeepQuestion(limited, a.run, q)
	if err == nil && !saved {
		err = errTaken
	}
	if err != nil {
		return q, fmt.Errorf("keeping a question: %w", err)
	}
	a.ownKeys[q.Key] = true
	return q, nil
}

// await waits for the answer to a question.
func (a *runQuestions) await(ctx context.Context, q task.Question) (json.RawMessage, error) {
	left := patience - a.options.Now().Sub(q.AskedAt)
	ctx, done := context.WithTimeoutCause(ctx, left, toolfold.Errorf(toolfold.TimedOut, "the client did not answer within %s", patience))
	defer done()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(a.options.Tick):
		}
		limited, done := context.WithTimeout(ctx, answerWithin)
		questions, err := a.ledger.Questions(limited, a.run.TaskID)
		done()
		if err != nil {
			a.warn(ctx, "looking for an answer", err)
			continue
		}
		i := slices.IndexFunc(questions, func(k task.Question) bool { return k.Key == q.Key })
		if i < 0 {
			return nil, toolfold.Errorf(toolfold.Internal, "the question was removed from the store")
		}
		if questions[i].Answer != nil {
			return questions[i].Answer, nil
		}
	}
}
