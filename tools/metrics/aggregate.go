package metrics

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// aggregate computes a figure from the points of all series, NaN if there are too few points. It
// may reorder the points.
func aggregate(kind, figure string, series []metric.Series) (float64, *Percentiles) {
	switch {
	case figure == "rate":
		return rate(kind, series), nil
	case figure == "sum" && kind == metric.Counter:
		sum, any := 0.0, false
		for _, s := range series {
			sum += s.Growth()
			any = any || len(s.Points) > 0
		}
		if !any {
			return math.NaN(), nil
		}
		return sum, nil
	case figure == "percentile":
		return percentiles(series)
	}
	count, sum, least, highest := 0, 0.0, math.Inf(1), math.Inf(-1)
	var last metric.Point
	for _, s := range series {
		for _, p := range s.Points {
			count++
			sum += p.Value
			least, highest = min(least, p.Value), max(highest, p.Value)
		}
		if n := len(s.Points); n > 0 && s.Points[n-1].Micros >= last.Micros {
			last = s.Points[n-1]
		}
	}
	switch {
	case figure == "count":
		return float64(count), nil
	case count == 0:
		return math.NaN(), nil
	case figure == "sum":
		return sum, nil
	case figure == "avg":
		return sum / float64(count), nil
	case figure == "min":
		return least, nil
	case figure == "max":
		return highest, nil
	}
	return last.Value, nil
}

// rate returns the sum of the rates of all series with points at two different times: growth,
// change or number of points, per second.
func rate(kind string, series []metric.Series) float64 {
	sum, any := 0.0, false
	for _, s := range series {
		n := len(s.Points)
		if n < 2 || s.Points[n-1].Micros <= s.Points[0].Micros {
			continue
		}
		any = true
		between := metric.Series{Points: s.Points[1:], Before: &s.Points[0]}
		change := float64(n - 1)
		switch kind {
		case metric.Counter:
			change = between.Growth()
		case metric.Gauge:
			change = s.Points[n-1].Value - s.Points[0].Value
		}
		sum += change / (float64(s.Points[n-1].Micros-s.Points[0].Micros) / 1e6)
	}
	if !any {
		return math.NaN()
	}
	return sum
}

// maxFigures is the maximum number of figures in an answer.
const maxFigures = 1000

// maxGroups is the most labels by which figures are grouped.
const maxGroups = 20

// figures computes a figure for each bucket of time and each set of values of labels, where these are
// given. The growth of a counter counts in the bucket in which it was written, so that the sums
// of buckets add up to that of the range.
func figures(kind, figure string, series []metric.Series, bucket time.Duration, by []string) ([]Figure, error) {
	type place struct {
		from  int64
		group string // the values of the labels as JSON
	}
	parts, groups := map[place][]metric.Series{}, map[string][]string{}
	for _, s := range series {
		values := make([]string, len(by))
		for i, label := range by {
			values[i] = s.Labels[label]
		}
		at := place{group: string(ordered.MustJSON(values))}
		groups[at.group] = values
		for begin := 0; begin < len(s.Points); {
			end := len(s.Points)
			if bucket > 0 {
				at.from = start(s.Points[begin].Micros, bucket)
				end = begin + 1
				for end < len(s.Points) && start(s.Points[end].Micros, bucket) == at.from {
					end++
				}
			}
			part := metric.Series{Points: s.Points[begin:end], Before: s.Before, Cut: s.Cut}
			if begin > 0 {
				part.Before, part.Cut = &s.Points[begin-1], false
			}
			parts[at] = append(parts[at], part)
			begin = end
		}
	}
	if len(parts) > maxFigures {
		return nil, toolfold.Errorf(toolfold.InvalidInput, "these are %d figures, more than %d", len(parts), maxFigures).
			About(toolfold.ProblemRefused, "bucket", "groupBy").WithHint("take a longer bucket, or narrow the range with since, until or labels")
	}
	places := slices.SortedFunc(maps.Keys(parts), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.from, b.from), slices.Compare(groups[a.group], groups[b.group]))
	})
	var list []Figure
	for _, at := range places {
		f := Figure{}
		if bucket > 0 {
			f.From = new(time.UnixMicro(at.from).UTC())
		}
		switch values := groups[at.group]; len(by) {
		case 0:
		case 1:
			f.Group = &values[0]
		default:
			f.Groups = map[string]string{}
			for i, label := range by {
				f.Groups[label] = values[i]
			}
		}
		for _, part := range parts[at] {
			f.Points += len(part.Points)
		}
		var value float64
		if figure == "rate" && bucket > 0 {
			value = change(kind, parts[at]) / bucket.Seconds()
		} else {
			value, f.Percentiles = aggregate(kind, figure, slices.Clone(parts[at]))
		}
		if !math.IsNaN(value) {
			f.Value = &value
		}
		list = append(list, f)
	}
	return list, nil
}

// start returns the start of the bucket of a time, in microseconds since 1970.
func start(micros int64, bucket time.Duration) int64 {
	length := bucket.Microseconds()
	return micros - ((micros%length)+length)%length
}

// change returns the numerator of a rate: growth, change or number of points.
func change(kind string, series []metric.Series) float64 {
	sum := 0.0
	for _, s := range series {
		switch kind {
		case metric.Counter:
			sum += s.Growth()
		case metric.Gauge:
			before := s.Points[0]
			if s.Before != nil {
				before = *s.Before
			}
			sum += s.Points[len(s.Points)-1].Value - before.Value
		default:
			sum += float64(len(s.Points))
		}
	}
	return sum
}

// percentiles returns nearest-rank percentiles, and the 95th. It copies and orders only the values
// near a percentile: one pass counts values by the first bits of their keys, a second pass collects
// the values with the keys of the percentiles.
func percentiles(series []metric.Series) (float64, *Percentiles) {
	counts := make([]int, 1<<keyBits)
	total := 0
	for _, s := range series {
		total += len(s.Points)
		for _, p := range s.Points {
			counts[key(p.Value)]++
		}
	}
	if total == 0 {
		return math.NaN(), nil
	}
	shares := [4]float64{0.50, 0.90, 0.95, 0.99}
	var keys, within [4]int // of each percentile: its key, and its rank among the values of that key
	near := map[int][]float64{}
	var selected [1 << keyBits / 64]uint64 // the keys to collect, as bits
	before, next := 0, 0
	for k, n := range counts {
		for next < len(shares) {
			place := int(math.Ceil(shares[next]*float64(total))) - 1
			if place >= before+n {
				break
			}
			within[next] = place - before
			near[k] = make([]float64, 0, n)
			selected[k/64] |= 1 << (k % 64)
			keys[next] = k
			next++
		}
		before += n
	}
	for _, s := range series {
		for _, p := range s.Points {
			if k := key(p.Value); selected[k/64]&(1<<(k%64)) != 0 {
				near[k] = append(near[k], p.Value)
			}
		}
	}
	var found [4]float64
	for i, k := range keys {
		found[i] = nth(near[k], within[i])
	}
	p := &Percentiles{P50: found[0], P90: found[1], P95: found[2], P99: found[3]}
	return p.P95, p
}

// keyBits is the length of a key.
const keyBits = 16

// key returns a number that grows with the value: the first bits of its encoding, ordered so that
// negative values come first. Both zeros have one key.
func key(value float64) int {
	bits := math.Float64bits(value + 0)
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return int(bits >> (64 - keyBits))
}

// nth returns the n-th smallest value. It reorders the values: no greater value is before it, and
// no smaller value after it.
func nth(values []float64, n int) float64 {
	low, high := 0, len(values)-1
	for low < high {
		pivot := values[low+rand.IntN(high-low+1)] // random, so that no input is a worst case
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			high = j
		case n >= i:
			low = i
		default:
			return values[n]
		}
	}
	return values[n]
}
