package clock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Moments describes the texts that [Moment] accepts, for documentation of parameters.
const Moments = "a time (2026-01-31T12:00:00Z), a day (2026-01-31, today, yesterday; UTC), or how long ago (-1h, -30m, -7d)"

// Moment returns the first and the last microsecond of a moment: a time in RFC 3339, "now", a
// duration ago in weeks, days, hours, minutes and seconds, or a day in UTC.
func Moment(text string, now time.Time) (from, to time.Time, err error) {
	now = now.UTC().Truncate(time.Microsecond)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	word := strings.ToLower(strings.TrimSpace(text))
	switch {
	case word == "now":
		return now, now, nil
	case word == "today":
		return day(midnight)
	case word == "yesterday":
		return day(midnight.AddDate(0, 0, -1))
	case strings.HasPrefix(word, "-"):
		ago, err := Length(word[1:])
		if err != nil {
			return from, to, err
		}
		return now.Add(-ago), now.Add(-ago), nil
	}
	if at, err := time.Parse(time.DateOnly, word); err == nil {
		return day(at)
	}
	at, err := time.Parse(time.RFC3339, strings.ToUpper(word))
	if err != nil {
		return from, to, fmt.Errorf("%q is not %s", shorten.Quoted(text), Moments)
	}
	return at.UTC(), at.UTC(), nil
}

func day(midnight time.Time) (from, to time.Time, err error) {
	return midnight, midnight.AddDate(0, 0, 1).Add(-time.Microsecond), nil
}

var lengthPart = regex.Lazy(`^(\d{1,9})(w|d|h|m|s)`)

var units = map[string]time.Duration{"w": 7 * 24 * time.Hour, "d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}

// Length parses a duration in weeks, days, hours, minutes and seconds, such as 1h30m or 7d, of at
// most a hundred years.
func Length(text string) (time.Duration, error) {
	const most = 100 * 365 * 24 * time.Hour
	total, rest := time.Duration(0), text
	for rest != "" || text == "" {
		part := lengthPart().FindStringSubmatch(rest)
		if part == nil {
			return 0, fmt.Errorf("%q is not how long something takes, such as 30s, 5m, 1h30m or 7d", shorten.Quoted(text))
		}
		n, _ := strconv.Atoi(part[1])
		if time.Duration(n) > (most-total)/units[part[2]] {
			return 0, errors.New("it is longer than a hundred years")
		}
		total += time.Duration(n) * units[part[2]]
		rest = rest[len(part[0]):]
	}
	return total, nil
}
