package servers

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/upstream"
)

// TimeoutFlag bounds how long a server is waited for.
var TimeoutFlag = &cli.DurationFlag{Name: "timeout", Usage: "how long each server may take to start and answer", Value: 30 * time.Second}

// Ask asks a server for its list, within --timeout. More is as in [upstream.List].
func Ask(c *cli.Context, s upstream.Server, more ...string) (upstream.Answer, error) {
	ctx, cancel := context.WithTimeout(c.Context, c.Duration("timeout"))
	defer cancel()
	return upstream.List(ctx, s, env.Version(), more...)
}

// ListOf returns the list that a server has answered with, as doctor reads it.
func ListOf(answer upstream.Answer) (doctor.List, error) {
	raw, err := ordered.JSON(answer)
	if err != nil {
		return doctor.List{}, err
	}
	l, err := doctor.ReadList(raw)
	l.Server = cmp.Or(answer.Name, "server")
	return l, err
}

// AskAll asks every server of a list without a problem for its tools, some at a
// time, and returns the answers by their place. One that does not answer is a list with
// a problem. Offers returns the methods that each is offered besides, see [upstream.List].
func AskAll(c *cli.Context, lists []doctor.List, servers []upstream.Server, offers func(i int) []string) []upstream.Answer {
	answers := make([]upstream.Answer, len(lists))
	const atOnce = 4
	var wait sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i := range lists {
		if lists[i].Problem != "" {
			continue
		}
		wait.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			answer, err := Ask(c, servers[i], offers(i)...)
			var l doctor.List
			if err == nil {
				l, err = ListOf(answer)
			}
			if err != nil {
				lists[i].Problem = err.Error()
				return
			}
			answers[i] = answer
			lists[i].Instructions, lists[i].Tools = l.Instructions, l.Tools
		})
	}
	wait.Wait()
	return answers
}
