package doctor_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/doctor"
)

func TestCallCosts(t *testing.T) {
	t.Parallel()
	calls := []doctor.Call{{"memory.get", 5, 7}, {"task.list", 3, 4000}}
	for i := range 100 {
		calls = append(calls, doctor.Call{Action: "memory.store", Arguments: 100 - i, Result: 10})
	}
	want := []doctor.CallCost{
		{"task.list", 1, doctor.Spread{Median: 3, P95: 3}, doctor.Spread{Median: 4000, P95: 4000}},
		{"memory.store", 100, doctor.Spread{Median: 50, P95: 95}, doctor.Spread{Median: 10, P95: 10}},
		{"memory.get", 1, doctor.Spread{Median: 5, P95: 5}, doctor.Spread{Median: 7, P95: 7}},
	}
	if diff := cmp.Diff(want, doctor.CallCosts(calls)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := doctor.CallCosts(nil); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
