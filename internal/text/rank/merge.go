package rank

import (
	"cmp"
	"slices"
)

// rankShare is the constant of reciprocal rank fusion. The greater it is, the less a first place
// differs from a second.
const rankShare = 60

// Merge merges two lists, each best first and without duplicates, by the sum of the reciprocals of
// their ranks. Ties keep the order of the first list.
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
