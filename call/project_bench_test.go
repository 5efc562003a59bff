package call

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkProjection prints the time of include_fields on a result of 1 MB. The floor is 1 ms.
func BenchmarkProjection(b *testing.B) {
	result := megabyte()
	for _, fields := range [][]string{
		{"count"}, {"results.key"}, {"results.value.a"}, {"results.key", "results.value.b.c", "count"},
	} {
		b.Run(strings.Join(fields, "+"), func(b *testing.B) {
			b.SetBytes(int64(len(result)))
			start := time.Now()
			for b.Loop() {
				Project(result, fields)
			}
			b.ReportMetric(float64(time.Since(start).Microseconds())/float64(b.N)/1000, "ms/result")
		})
	}
}

// megabyte is a search result in the form of the memory family.
func megabyte() json.RawMessage {
	var rows []string
	size := 0
	for i := 0; size < 1<<20; i++ {
		row := fmt.Sprintf(`{"key":"team/rules/%d","value":{"a":"%s","b":{"c":%d,"d":[1,2,3]}},"score":0.5}`, i, strings.Repeat("text ", 40), i)
		rows = append(rows, row)
		size += len(row)
	}
	return json.RawMessage(`{"results":[` + strings.Join(rows, ",") + `],"count":` + fmt.Sprint(len(rows)) + `}`)
}
