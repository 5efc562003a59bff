package toolfold_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
)

// A schema that arguments cannot be checked with, or that reaches out, is
// refused with a reason.
func TestExternalRefuses(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`: "not followed",
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:               "compiling schema",
		`{"type":"nothing"}`: "compiling schema",
		`[]`:                 "schema of x",
	} {
		_, err := toolfold.External{Name: "x", Description: "X.", Category: "c", InputSchema: json.RawMessage(schema)}.Family()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
}
