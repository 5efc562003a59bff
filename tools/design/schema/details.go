package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/tools/design/text"
)

// Details limit the values of a field, or say how a database treats them.
type Details struct {
	Default  json.RawMessage `json:"default"` // nil for no default
	Min      *float64        `json:"min"`     // of a number, the characters of a text or the items of an array
	Max      *float64        `json:"max"`
	Pattern  string          `json:"pattern"` // regular expression of a text
	Unique   bool            `json:"unique"`
	Index    bool            `json:"index"`
	OnDelete string          `json:"onDelete"` // one of Actions, of a ref
}

// given lists the details that are given, by their JSON names.
func (d Details) given() (names []string) {
	for _, detail := range []struct {
		name  string
		given bool
	}{
		{"default", d.Default != nil}, {"min", d.Min != nil}, {"max", d.Max != nil}, {"pattern", d.Pattern != ""},
		{"unique", d.Unique}, {"index", d.Index}, {"onDelete", d.OnDelete != ""},
	} {
		if detail.given {
			names = append(names, detail.name)
		}
	}
	return names
}

// lacks lists the details that each format cannot express.
var lacks = map[string]struct {
	title string
	names []string
}{
	Zod:        {"Zod", []string{"unique", "index", "onDelete"}},
	JSONSchema: {"JSON Schema", []string{"unique", "index", "onDelete"}},
	TypeScript: {"TypeScript", []string{"default", "min", "max", "pattern", "unique", "index", "onDelete"}},
	Prisma:     {"Prisma", []string{"min", "max", "pattern"}},
	Drizzle:    {"Drizzle", []string{"min", "max", "pattern"}},
}

// missing notes the details that the format cannot express.
func (r record) missing(format string) []string {
	lack := lacks[format]
	var missing notes
	for _, f := range r.Fields {
		for _, name := range f.given() {
			inList := name == "onDelete" && f.Type == Array // of ids, or a relation of many to many
			now := name == "default" && f.isNow() && format == JSONSchema
			if slices.Contains(lack.names, name) || inList || now {
				missing.add(lack.title+" leaves out "+name, f.Name)
			}
		}
	}
	return missing.texts()
}

// maxSafe is the greatest integer that a number of 64 bits does not share with the next one.
const maxSafe = 1<<53 - 1

// refuseIntegers returns a problem for each default of an integer that the type of the format cannot hold.
func (r record) refuseIntegers(format string) (problems []toolfold.Problem) {
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	switch format {
	case Zod, JSONSchema:
		least, most = -maxSafe, maxSafe
	case Prisma, Drizzle:
		least, most = math.MinInt32, math.MaxInt32
	}
	for i, f := range r.Fields {
		number, _ := f.value.(json.Number)
		if n, err := number.Int64(); f.Type == Integer && err == nil && (n < least || n > most) {
			problems = append(problems, toolfold.Problem{Path: fmt.Sprintf("/fields/%d/default", i), Kind: toolfold.ProblemFormat,
				Want: fmt.Sprintf("whole number from %d to %d, which integers of %s hold", least, most, lacks[format].title)})
		}
	}
	return problems
}

// check calls refuse for each detail that does not fit the field, and returns the decoded default, nil if there is no default.
func (f Field) check(refuse func(member, want string)) (value any) {
	plain := f.Type == String && len(f.EnumValues) == 0
	length := plain || f.Type == Email || f.Type == URL || f.Type == Array
	for _, name := range []string{"min", "max"} {
		bound := f.Min
		if name == "max" {
			bound = f.Max
		}
		switch {
		case bound == nil:
		case !length && f.Type != Number && f.Type != Integer:
			refuse(name, "type string, email, url, number, integer or array, which can have bounds")
		case f.Type != Number && *bound != math.Trunc(*bound) || length && (*bound < 0 || *bound > math.MaxInt32):
			refuse(name, "whole number; a length is 0 to 2147483647")
		case f.Type == Integer && math.Abs(*bound) > maxSafe:
			refuse(name, fmt.Sprintf("whole number from -%d to %[1]d, which is not rounded", maxSafe))
		}
	}
	if f.Min != nil && f.Max != nil && *f.Min > *f.Max {
		refuse("max", "number that is not less than min")
	}
	if f.Pattern != "" {
		_, err := regexp.Compile(f.Pattern)
		if !plain {
			refuse("pattern", "type string without enumValues, as there is a pattern")
		} else if err != nil {
			refuse("pattern", "regular expression that JavaScript and RE2 read alike: no lookaround, back references or errors")
		} else if want := divergence(f.Pattern); want != "" {
			refuse("pattern", want+", so that JavaScript and RE2 read the pattern alike")
		}
	}
	column := f.Type != Array && f.Type != Object && f.Type != Null
	if f.Unique && !column {
		refuse("unique", "false: arrays, objects and null cannot be unique")
	}
	if f.Index && !column {
		refuse("index", "false: arrays, objects and null have no index")
	}
	switch {
	case f.OnDelete == "":
	case f.RefSchema == "":
		refuse("onDelete", "field with a refSchema")
	case !slices.Contains(Actions(), f.OnDelete):
		refuse("onDelete", "one of "+strings.Join(Actions(), ", "))
	case f.OnDelete == SetNull && (f.Required && !f.Nullable || f.Type == Array):
		refuse("onDelete", "cascade, restrict or no action: the field is never null")
	}
	if f.Default == nil {
		return nil
	}
	value, want := f.defaultValue()
	if want != "" {
		refuse("default", want)
		return nil
	}
	return value
}

// defaultValue decodes the default. want is empty if the default fits the field; otherwise it names what fits.
func (f Field) defaultValue() (value any, want string) {
	if err := jsonx.Decode(f.Default, &value); err != nil || !writable(value) {
		return nil, "JSON value without NUL characters, with finite numbers"
	}
	s, isText := value.(string)
	number, isNumber := value.(json.Number)
	list, isList := value.([]any)
	format := map[string]string{Date: "date", DateTime: "date-time", UUID: "uuid", Email: "email", URL: "uri"}[f.Type]
	switch {
	case value == nil:
		return nil, "value other than null; leave it out for no default"
	case f.RefSchema != "" || f.Type == Null:
		return nil, "no default: type ref, arrays of references and type null have none"
	case f.Type == Enum || f.Type == String && len(f.EnumValues) > 0:
		if !isText || !slices.Contains(f.EnumValues, s) {
			return nil, "one of enumValues"
		}
	case f.Type == Date && s == Now || f.Type == DateTime && s == Now:
	case format != "":
		if !isText || !judge.Formats[format](s) {
			want = judge.WantedFormat(format, s)
			if f.Type == Date || f.Type == DateTime {
				want += ", or now"
			}
			return nil, want
		}
		if want := f.storable(s); want != "" {
			return nil, want
		}
	case f.Type == String:
		if !isText {
			return nil, "string"
		}
	case f.Type == Integer:
		if _, err := strconv.ParseInt(string(number), 10, 64); !isNumber || err != nil {
			return nil, "whole number"
		}
	case f.Type == Number && !isNumber:
		return nil, "number"
	case f.Type == Number:
		digits, _, _ := strings.Cut(strings.ToLower(string(number)), "e")
		if n, _ := number.Float64(); n == 0 && strings.ContainsAny(digits, "123456789") {
			return nil, "number that 64 bits can tell from 0"
		}
	case f.Type == Array:
		if !isList || slices.ContainsFunc(list, func(item any) bool {
			of, isText := item.(string)
			return len(f.EnumValues) > 0 && (!isText || !slices.Contains(f.EnumValues, of))
		}) {
			return nil, "array of the items that the field takes"
		}
	}
	if _, isBool := value.(bool); f.Type == Boolean && !isBool {
		return nil, "boolean"
	}
	if _, isObject := value.(map[string]any); f.Type == Object && !isObject {
		return nil, "object"
	}
	if !f.takes(value) {
		return nil, "value within min, max and pattern"
	}
	return value, ""
}

// storable names what to write in place of a valid default that databases refuse. It returns an empty string for other texts.
func (f Field) storable(value string) (want string) {
	switch f.Type {
	case Date:
		if strings.HasPrefix(value, "0000") {
			return "date from 0001-01-01"
		}
	case DateTime:
		at, err := time.Parse(time.RFC3339, value)
		_, offset := at.Zone()
		year := at.UTC().Year()
		switch {
		case err != nil || strings.Contains(value, ","):
			return "date-time with a point before the fraction of a second"
		case max(offset, -offset) > 14*60*60:
			return "date-time with an offset of at most 14:00"
		case min(year, at.Year()) < 1 || year > 9999:
			return "date-time from year 0001 to 9999 in UTC"
		}
	case URL:
		if strings.IndexByte(value, ':') == len(value)-1 {
			return "url with text after its scheme"
		}
	}
	return ""
}

// isNow reports whether the default of a field is the time when a record is created.
func (f field) isNow() bool { return f.value == Now && (f.Type == Date || f.Type == DateTime) }

// jsonText encodes a decoded value as JSON. JavaScript and the databases decode it to the same value.
func jsonText(value any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil { // it was decoded from JSON
		panic(fmt.Sprintf("schema: %v", err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// literal writes a decoded value as JavaScript. An object literal with __proto__ would set a prototype, so JSON.parse reads it.
func literal(value any) string {
	encoded := jsonText(value)
	if _, isText := value.(string); !isText && strings.Contains(encoded, "__proto__") {
		return "JSON.parse(" + text.Quote(encoded) + ")"
	}
	return encoded
}

// takes reports whether a value of the field's type is within its bounds, and fits its pattern.
func (f Field) takes(value any) bool {
	size, sized := judge.Float(value)
	switch value := value.(type) {
	case string:
		size, sized = float64(utf8.RuneCountInString(value)), true
		if f.Pattern != "" {
			// check refuses patterns that do not compile.
			if expression, err := regexp.Compile(f.Pattern); err == nil && !expression.MatchString(value) {
				return false
			}
		}
	case []any:
		size, sized = float64(len(value)), true
	}
	return !sized || (f.Min == nil || size >= *f.Min) && (f.Max == nil || size <= *f.Max)
}

// writable reports whether databases can store a decoded value.
func writable(value any) bool {
	switch value := value.(type) {
	case string:
		return !strings.Contains(value, "\x00")
	case json.Number:
		n, err := value.Float64()
		return err == nil && !math.IsInf(n, 0)
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { return !writable(item) })
	case map[string]any:
		for name, member := range value {
			if !writable(name) || !writable(member) {
				return false
			}
		}
	}
	return true
}

// number writes a number as SQL, JSON and JavaScript have it.
func number(n float64) string {
	if math.Abs(n) < 1e21 {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}
