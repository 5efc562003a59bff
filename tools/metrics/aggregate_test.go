package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// line is a series with a point each second.
func line(values ...float64) Series {
	s := Series{}
	for i, v := range values {
		s.Points = append(s.Points, Point{Micros: int64(i+1) * 1e6, Value: v})
	}
	return s
}

func TestAggregate(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	before := Point{Value: 4}
	after := line(5, 8)
	after.Before = &before
	cut := line(5, 8)
	cut.Cut = true
	for _, test := range []struct {
		kind, figure string
		series       []Series
		want         float64
	}{
		{Gauge, "sum", []Series{line(1, 2), line(3)}, 6},
		{Gauge, "avg", []Series{line(1, 2), line(3)}, 2},
		{Gauge, "min", []Series{line(1, -2), line(3)}, -2},
		{Gauge, "max", []Series{line(-1, -2), line(-3)}, -1},
		{Gauge, "count", []Series{line(1, 2), line(3)}, 3},
		{Gauge, "last", []Series{line(1, 2), line(3)}, 2},
		{Gauge, "count", nil, 0},
		{Gauge, "sum", nil, none},
		{Gauge, "last", []Series{{}}, none},
		{Gauge, "percentile", nil, none},

		{Counter, "sum", []Series{line(1, 3, 6)}, 6},
		{Counter, "sum", []Series{line(1, 3, 2, 4)}, 7}, // it began again before 2
		{Counter, "sum", []Series{after}, 4},
		{Counter, "sum", []Series{cut}, 3},
		{Counter, "sum", nil, none},
		{Counter, "rate", []Series{line(10, 14, 20)}, 5},
		{Counter, "rate", []Series{line(10, 14, 2)}, 3},
		{Counter, "rate", []Series{line(10, 14), line(1, 2), line(9)}, 5},
		{Gauge, "rate", []Series{line(10, 4, 8)}, -1},
		{Histogram, "rate", []Series{line(10, 4, 8)}, 1},
		{Counter, "rate", []Series{line(10)}, none},
		{Counter, "rate", []Series{{Points: []Point{{1, 1}, {1, 2}}}}, none},
	} {
		got, _ := aggregate(test.kind, test.figure, test.series)
		if got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("%s of the %s %v is %v, want %v", test.figure, test.kind, test.series, got, test.want)
		}
	}
}

// Percentiles are those of the sorted values, in whatever order they came.
func TestPercentiles(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for size := range 300 {
		values := make([]float64, size+1)
		for i := range values {
			switch size % 3 {
			case 0: // many the same
				values[i] = float64(random.IntN(50))
			case 1: // of both signs, zeros of both among them
				values[i] = float64(random.IntN(21)-10) * 1.5
				if values[i] == 0 && i%2 == 0 {
					values[i] = math.Copysign(0, -1)
				}
			case 2: // of all sizes
				values[i] = (random.Float64() - 0.3) * math.Pow(10, float64(random.IntN(600)-300))
			}
		}
		sorted := slices.Sorted(slices.Values(values))
		at := func(share float64) float64 { return sorted[int(math.Ceil(share*float64(len(sorted))))-1] }
		got, p := percentiles([]Series{line(values[:size/2]...), line(values[size/2:]...)})
		if want := (Percentiles{at(0.5), at(0.9), at(0.95), at(0.99)}); *p != want || got != want.P95 {
			t.Fatalf("of %v: %+v, want %+v", sorted, *p, want)
		}
	}
}
