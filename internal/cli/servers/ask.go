package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/unseen"
	"github.com/toolfold/toolfold/upstream"
)

// TimeoutFlag limits the wait for a server.
var TimeoutFlag = &cli.DurationFlag{Name: "timeout", Usage: "how long each server may take to start and answer", Value: 30 * time.Second}

// Ask asks a server for its list, within --timeout. more is described at [upstream.List].
func Ask(c *cli.Context, s upstream.Server, more ...string) (upstream.Answer, error) {
	ctx, cancel := context.WithTimeout(c.Context, c.Duration("timeout"))
	defer cancel()
	answer, err := upstream.List(ctx, s, env.Version(), more...)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		limit := c.Duration("timeout")
		err = fmt.Errorf("no answer in %s; --timeout=%s waits longer", brief(limit), brief(4*limit))
	}
	return answer, err
}

// brief formats a duration without trailing zero units.
func brief(d time.Duration) string {
	text := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = strings.TrimSuffix(text, none[1:])
		}
	}
	return text
}

// ListOf converts a server's answer for doctor.
func ListOf(answer upstream.Answer) (doctor.List, error) {
	raw, err := ordered.JSON(answer)
	if err != nil {
		return doctor.List{}, err
	}
	l, err := doctor.ReadList(raw)
	l.Server = cmp.Or(answer.Name, "server")
	return l, err
}

// AskAll asks the server of each list without a problem for its tools, four at a time. It returns the
// answers by index, and prints a line on standard error for each. The list of a server that does not
// answer gets a problem. offers returns additional methods to declare to a server, see [upstream.List].
func AskAll(c *cli.Context, lists []doctor.List, servers []upstream.Server, offers func(i int) []string) []upstream.Answer {
	answers := make([]upstream.Answer, len(lists))
	var line sync.Mutex // prints one line at a time
	SomeAtOnce(len(lists), func(i int) {
		if lists[i].Problem != "" {
			return
		}
		answer, err := Ask(c, servers[i], offers(i)...)
		var l doctor.List
		if err == nil {
			l, err = ListOf(answer)
		}
		name := unseen.Escaped(lists[i].Server)
		if lists[i].Host != "" { // several clients may have the same server
			name += " of " + lists[i].Host
		}
		line.Lock()
		defer line.Unlock()
		if err != nil {
			lists[i].Problem = err.Error()
			fmt.Fprintf(c.App.ErrWriter, "toolfold: %s: %s\n", name, lists[i].Problem)
			return
		}
		fmt.Fprintf(c.App.ErrWriter, "toolfold: %s: %s\n", name, english.Count(len(l.Tools), "tool", "tools"))
		answers[i] = answer
		lists[i].Instructions, lists[i].Tools = l.Instructions, l.Tools
	})
	return answers
}

// SomeAtOnce calls run for each number below n, four at a time, and waits for all calls. If all servers
// started at once, they would delay each other.
func SomeAtOnce(n int, run func(i int)) {
	const atOnce = 4
	var wait sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i := range n {
		room <- struct{}{}
		wait.Go(func() {
			defer func() { <-room }()
			run(i)
		})
	}
	wait.Wait()
}
