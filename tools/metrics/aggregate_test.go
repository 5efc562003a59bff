package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/toolfold/toolfold/internal/run/metric"
)

// line returns a series with a point per second.
func line(values ...float64) metric.Series {
	s := metric.Series{}
	for i, v := range values {
		s.Points = append(s.Points, metric.Point{Micros: int64(i+1) * 1e6, Value: v})
	}
	return s
}

func TestAggregate(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	before := metric.Point{Value: 4}
	after := line(5, 8)
	after.Before = &before
	cut := line(5, 8)
	cut.Cut = true
	for _, test := range []struct {
		kind, figure string
		series       []metric.Series
		want         float64
	}{
		{metric.Gauge, "sum", []metric.Series{line(1, 2), line(3)}, 6},
		{metric.Gauge, "avg", []metric.Series{line(1, 2), line(3)}, 2},
		{metric.Gauge, "min", []metric.Series{line(1, -2), line(3)}, -2},
		{metric.Gauge, "max", []metric.Series{line(-1, -2), line(-3)}, -1},
		{metric.Gauge, "count", []metric.Series{line(1, 2), line(3)}, 3},
		{metric.Gauge, "last", []metric.Series{line(1, 2), line(3)}, 2},
		{metric.Gauge, "count", nil, 0},
		{metric.Gauge, "sum", nil, none},
		{metric.Gauge, "last", []metric.Series{{}}, none},
		{metric.Gauge, "percentile", nil, none},

		{metric.Counter, "sum", []metric.Series{line(1, 3, 6)}, 6},
		{metric.Counter, "sum", []metric.Series{line(1, 3, 2, 4)}, 7}, // it restarted
		{metric.Counter, "sum", []metric.Series{after}, 4},
		{metric.Counter, "sum", []metric.Series{cut}, 3},
		{metric.Counter, "sum", nil, none},
		{metric.Counter, "rate", []metric.Series{line(10, 14, 20)}, 5},
		{metric.Counter, "rate", []metric.Series{line(10, 14, 2)}, 3},
		{metric.Counter, "rate", []metric.Series{line(10, 14), line(1, 2), line(9)}, 5},
		{metric.Gauge, "rate", []metric.Series{line(10, 4, 8)}, -1},
		{metric.Histogram, "rate", []metric.Series{line(10, 4, 8)}, 1},
		{metric.Counter, "rate", []metric.Series{line(10)}, none},
		{metric.Counter, "rate", []metric.Series{{Points: []metric.Point{{Micros: 1, Value: 1}, {Micros: 1, Value: 2}}}}, none},
	} {
		got, _ := aggregate(test.kind, test.figure, test.series)
		if got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("%s of the %s %v is %v, want %v", test.figure, test.kind, test.series, got, test.want)
		}
	}
}

// Percentiles do not depend on the order of the values.
func TestPercentiles(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for size := range 300 {
		values := make([]float64, size+1)
		for i := range values {
			switch size % 3 {
			case 0: // many equal values
				values[i] = float64(random.IntN(50))
			case 1: // both signs, with zeros of both
				values[i] = float64(random.IntN(21)-10) * 1.5
				if values[i] == 0 && i%2 == 0 {
					values[i] = math.Copysign(0, -1)
				}
			case 2: // all magnitudes
				values[i] = (random.Float64() - 0.3) * math.Pow(10, float64(random.IntN(600)-300))
			}
		}
		sorted := slices.Sorted(slices.Values(values))
		at := func(share float64) float64 { return sorted[int(math.Ceil(share*float64(len(sorted))))-1] }
		got, p := percentiles([]metric.Series{line(values[:size/2]...), line(values[size/2:]...)})
		if want := (Percentiles{at(0.5), at(0.9), at(0.95), at(0.99)}); *p != want || got != want.P95 {
			t.Fatalf("of %v: %+v, want %+v", sorted, *p, want)
		}
	}
}
