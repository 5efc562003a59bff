package embed

import (
	"cmp"
	"math"
	"slices"
)

// Neighbour is a text with its similarity to a query.
type Neighbour struct {
	ID         int64
	Similarity float64
}

// maxNear bounds the texts that vectors find.
const maxNear = 20

// Nearest returns the texts that stand out, most similar first: more similar to a query than the
// average text by half a standard deviation. The similarity of unrelated texts differs between
// models.
func Nearest(all []Neighbour) []Neighbour {
	var sum, squares float64
	for _, n := range all {
		sum += n.Similarity
		squares += n.Similarity * n.Similarity
	}
	count := float64(len(all))
	mean := sum / max(count, 1)
	bar := mean + 0.5*math.Sqrt(max(squares/max(count, 1)-mean*mean, 0))
	list := slices.DeleteFunc(slices.Clone(all), func(n Neighbour) bool { return n.Similarity <= 0 || n.Similarity < bar-1e-9 })
	slices.SortFunc(list, func(a, b Neighbour) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(b.ID, a.ID))
	})
	return list[:min(len(list), maxNear)]
}
