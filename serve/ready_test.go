package serve

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A server that stops waits for hosts that ask /readyz regularly, and for no others.
func TestBalancersKnow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asks  []time.Duration // before the stop
		after time.Duration   // between two asks after it; 0 = none
		want  time.Duration
	}{
		"nobody asks":    {},
		"asked once":     {asks: []time.Duration{time.Second}},
		"asked long ago": {asks: []time.Duration{2 * time.Minute, time.Minute}},
		"asks":           {asks: []time.Duration{2 * time.Second, time.Second}, after: time.Second, want: 3*time.Second + balancerActs},
		"asks rarely":    {asks: []time.Duration{20 * time.Second, 10 * time.Second}, after: 10 * time.Second, want: balancerWait},
		"asks no more":   {asks: []time.Duration{2 * time.Second, time.Second}, want: balancerWait},
		"asks again": {asks: []time.Duration{time.Minute, 9 * time.Second, 5 * time.Second}, after: time.Second,
			want: 3*time.Second + balancerActs},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBalancers()
				from := &http.Request{RemoteAddr: "192.0.2.1:7777"}
				stop := time.Now()
				for _, before := range test.asks {
					b.ask(from, stop.Add(-before))
				}
				b.stop(stop)
				var asking sync.WaitGroup
				defer asking.Wait()
				if test.after > 0 {
					asking.Go(func() {
						for range balancerAsks {
							time.Sleep(test.after)
							b.ask(from, time.Now())
							b.ask(&http.Request{RemoteAddr: "192.0.2.2:7777"}, time.Now())
						}
					})
				}
				b.wait(t.Context())
				if took := time.Since(stop); took != test.want {
					t.Errorf("it waits %v, want %v", took, test.want)
				}
			})
		})
	}
}
