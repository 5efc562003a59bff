// Package judge has the checks that declared fields and schemas from elsewhere share, and reads the
// latter.
package judge

import (
	"encoding/json"
	"net/mail"
	"net/netip"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// MaxProblems is the maximum number of problems that a check reports.
const MaxProblems = 20

// TypeOr joins the types in a problem if a schema allows several.
const TypeOr = " or "

// Formats check the formats that a field can declare.
var Formats = map[string]func(string) bool{
	"date": func(text string) bool { _, err := time.Parse(time.DateOnly, text); return err == nil },
	"date-time": func(text string) bool { // JSON can represent the same years in UTC
		t, err := time.Parse(time.RFC3339, text)
		return err == nil && t.UTC().Year() >= 0 && t.UTC().Year() <= 9999
	},
	"email": func(text string) bool { a, err := mail.ParseAddress(text); return err == nil && a.Address == text },
	"ipv4":  func(text string) bool { a, err := netip.ParseAddr(text); return err == nil && a.Is4() },
	"ipv6": func(text string) bool {
		a, err := netip.ParseAddr(text)
		return err == nil && a.Is6() && a.Zone() == ""
	},
	"uri":  func(text string) bool { u, err := url.Parse(text); return err == nil && u.IsAbs() },
	"uuid": func(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil },
}

// WantedFormat returns the expected form of a text that does not have a format.
func WantedFormat(format, text string) string {
	if format != "date-time" {
		return format
	}
	const example = "2026-01-31T12:00:00Z"
	if _, err := time.Parse(time.RFC3339, text); err == nil {
		return "date-time in the years 0 to 9999 of UTC, such as " + example
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return "date-time with its zone, such as " + t.Format(time.RFC3339)
		}
	}
	return "date-time such as " + example
}

// Got returns a value in the form for errors: scalars shortened, other values by type.
func Got(v any) any {
	switch v := v.(type) {
	case string:
		return shorten.Quoted(v)
	case bool, json.Number:
		return v
	}
	return jsonx.TypeName(v)
}

// Float returns the number of a decoded value; ok is false if it is not a number.
func Float(value any) (n float64, ok bool) {
	switch value := value.(type) {
	case json.Number:
		n, _ = value.Float64() // infinite if out of range
		return n, true
	case float64:
		return value, true
	case int:
		return float64(value), true
	case int64:
		return float64(value), true
	case uint64:
		return float64(value), true
	}
	return 0, false
}
