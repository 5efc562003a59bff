package rank

import (
	"cmp"
	"slices"
)

// rankShare is the constant of reciprocal rank fusion: the greater it is, the less a
// first place says against a second.
const rankShare = 60

// Merge returns the items of two lists, each best first, by the sum of the
// reciprocals of their ranks; equals in the order of the first list. No item is twice
// in a list.
func Merge[T comparable](first, second []T) []T {
	worth := map[T]float64{}
	all := slices.Clone(first)
	for i, item := range first {
		worth[item] = 1 / float64(rankShare+i+1)
	}
	for i, item := range second {
		if worth[item] == 0 {
			all = append(all, item)
		}
		worth[item] += 1 / float64(rankShare+i+1)
	}
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(worth[b], worth[a]) })
	return all
}
