package serve

import "testing"

func TestMayHoldHuge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"n":1e999}`: true, `{"n":1E+999}`: true, `{"n":1e400}`: true, `{"n":-1.5e1000}`: true,
		`{"n":1e99}`: false, `{"n":1e-999}`: false, `{"n":12345678901234567890}`: false, `{"name":"e1234"}`: false,
	} {
		if got := mayHoldHuge([]byte(text)); got != want {
			t.Errorf("mayHoldHuge(%s) = %v", text, got)
		}
	}
}
