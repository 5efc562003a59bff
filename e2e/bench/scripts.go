package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// callsOfScript is the number of calls that a measured script makes.
const callsOfScript = 500

// scripts measures calls by a script against single calls of a client that waits for each answer.
func (b *bench) scripts(ctx context.Context) error {
	if !strings.Contains("calls in a script", b.only) {
		return nil
	}
	w := ways[2]
	ours, err := b.ours(ctx, w, "toolfold")
	if err != nil {
		return err
	}
	defer ours.stop()
	const get, store = `{"action":"get","key":"team/rules"}`, `{"action":"store","key":"team/rules","value":{"freeze":"Friday"}}`
	if _, err := ours.ask(call("memory", store)); err != nil {
		return err
	}
	for _, row := range []struct {
		name, code string
		action     string
		single     request
		goal       float64
	}{
		{"memory.get in a script", `for (let i = 0; i < %d; i++) await memory.get({key: "team/rules"})`, "run", call("memory", get), 0.5},
		{"memory.get in a script that only reads", `for (let i = 0; i < %d; i++) await memory.get({key: "team/rules"})`, "read",
			call("memory", get), 0.5},
		{"memory.get in a script, all at once", `await Promise.all(Array.from({length: %d}, () => memory.get({key: "team/rules"})))`, "run",
			call("memory", get), 0.5},
		{"memory.store in a script", `for (let i = 0; i < %d; i++) await memory.store({key: "team/rules", value: {freeze: "Friday"}})`, "run",
			call("memory", store), 0.5},
	} {
		var rates, costs [2][]float64
		for range b.rounds {
			many := script(row.action, fmt.Sprintf(row.code, callsOfScript))
			for i, request := range []request{many, row.single} {
				t, err := ours.make(request, []int{1, callsOfScript}[i])
				if err != nil {
					return err
				}
				rates[i] = append(rates[i], callsOfScript/t.seconds)
				costs[i] = append(costs[i], t.cpu)
			}
		}
		b.print(fmt.Sprintf("| %s | single calls | %s | %.0f | %.0f | %.2f | %.2f | %g |\n", row.name, w.name, median(rates[0]), median(rates[1]),
			median(rates[0])/median(rates[1]), median(costs[1])/median(costs[0]), row.goal))
	}
	for _, action := range []string{"run", "read"} {
		var rates []float64
		for range b.rounds {
			t, err := ours.make(script(action, "return 1"), 10)
			if err != nil {
				return err
			}
			rates = append(rates, 10/t.seconds)
		}
		b.print(fmt.Sprintf("| script.%s without calls | – | %s | %.0f | | | | 25 |\n", action, w.name, median(rates)))
	}
	return nil
}

// script is a request for an action of scripts.
func script(action, code string) request {
	arguments, _ := json.Marshal(map[string]string{"action": action, "code": code}) // never fails
	return call("script", string(arguments))
}

// cost is what requests took.
type cost struct{ seconds, cpu float64 }

// make sends a request several times, one after the other.
func (p *peer) make(r request, times int) (cost, error) {
	start, used := time.Now(), p.cpu()
	for range times {
		answer, err := p.ask(r)
		if err != nil {
			return cost{}, err
		}
		if strings.Contains(answer, `"isError":true`) || strings.Contains(answer, `"error":`) {
			return cost{}, fmt.Errorf("answered %.300s", answer)
		}
	}
	return cost{time.Since(start).Seconds(), p.cpu() - used}, nil
}
