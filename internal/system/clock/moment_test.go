package clock

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 30, 0, 1500, time.FixedZone("", 3600))
	for text, want := range map[string][2]string{
		"now":                       {"2026-03-01T08:30:00.000001Z", "2026-03-01T08:30:00.000001Z"},
		"today":                     {"2026-03-01T00:00:00Z", "2026-03-01T23:59:59.999999Z"},
		"Yesterday":                 {"2026-02-28T00:00:00Z", "2026-02-28T23:59:59.999999Z"},
		"2024-02-29":                {"2024-02-29T00:00:00Z", "2024-02-29T23:59:59.999999Z"},
		"-1h30m":                    {"2026-03-01T07:00:00.000001Z", "2026-03-01T07:00:00.000001Z"},
		"-1w1d":                     {"2026-02-21T08:30:00.000001Z", "2026-02-21T08:30:00.000001Z"},
		"2026-01-31T12:00:00+02:00": {"2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z"},
		"2026-01-31t12:00:00z":      {"2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"},
	} {
		from, to, err := Moment(text, now)
		if err != nil || from.Format(time.RFC3339Nano) != want[0] || to.Format(time.RFC3339Nano) != want[1] {
			t.Errorf("Moment(%q) = %v, %v, %v", text, from, to, err)
		}
	}
	for _, text := range []string{"", "-", "-1", "-1y", "-h", "1h", "2026-02-30", "2026-01-31 12:00", "-999999999w", "tomorrow", "-1.5h"} {
		if from, to, err := Moment(text, now); err == nil {
			t.Errorf("Moment(%q) = %v, %v", text, from, to)
		}
	}
}
