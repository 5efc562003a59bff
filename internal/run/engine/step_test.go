package engine

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
)

// What a list of steps may hold and what is kept of it are the same members.
func TestStepsAreRecordedWhole(t *testing.T) {
	t.Parallel()
	retry, _ := reflect.TypeFor[Step]().FieldByName("Retry")
	i := slices.IndexFunc(stepFields, func(f toolfold.Field) bool { return f.Param().Name == "retry" })
	for of, declared := range map[reflect.Type][]toolfold.Param{
		reflect.TypeFor[Step](): stepFields.Params(), retry.Type.Elem(): stepFields[i].Param().Optional,
	} {
		var want, got []string
		for _, p := range declared {
			want = append(want, p.Name)
		}
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			got = append(got, name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("members of %s (-declared +kept)\n%s", of, diff)
		}
	}
}
