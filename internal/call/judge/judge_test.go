package judge

import "testing"

// Times whose year in UTC JSON cannot represent are refused: an answer could not have them.
func TestTimesHaveYears(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0000-01-01T00:00:00Z":      "",
		"9999-12-31T23:59:59Z":      "",
		"9999-12-31T23:59:59-12:00": "date-time in the years 0 to 9999 of UTC, such as 2026-01-31T12:00:00Z",
		"0000-01-01T00:00:00+12:00": "date-time in the years 0 to 9999 of UTC, such as 2026-01-31T12:00:00Z",
	} {
		if fits := Formats["date-time"](text); fits != (want == "") {
			t.Errorf("%s fits: %t", text, fits)
		}
		if got := WantedFormat("date-time", text); want != "" && got != want {
			t.Errorf("%s: got %q", text, got)
		}
	}
}
