package toolfold

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Text describes the problem, for the message of an [Error].
func (p Problem) Text() string {
	name := p.Name()
	if p.Path == "" {
		name = "the arguments"
	}
	switch p.Kind {
	case ProblemMissing:
		return name + " is missing"
	case ProblemUnknown:
		return strconv.Quote(name) + " is unknown" + didYouMean(p.Suggest)
	case ProblemStray:
		return fmt.Sprintf("%s belongs to %s%s", name, strings.Join(p.BelongsTo, ", "), didYouMean(p.Suggest))
	case ProblemType:
		return fmt.Sprintf("%s must be %s, got %v", name, p.Want, p.Got)
	case ProblemEnum:
		return fmt.Sprintf("%s must be one of its allowed values, got %s%s", name, strconv.Quote(shorten.Quoted(fmt.Sprint(p.Got))),
			didYouMean(p.Suggest))
	case ProblemRange:
		return fmt.Sprintf("%s must be %s, got %v", name, cmp.Or(p.Want, p.bounds()), p.Got)
	case ProblemLength:
		if p.Path == "" {
			return fmt.Sprintf("%s parameters must be given, got %v", p.bounds(), p.Got)
		}
		return fmt.Sprintf("%s must be %s long, got %v", name, p.bounds(), p.Got)
	case ProblemTwice:
		return name + " is also given beside " + callctx.ArgParams + ", with another value"
	case ProblemFormat:
		return fmt.Sprintf("%s must be a %s", name, p.Want)
	case ProblemPattern:
		return fmt.Sprintf("%s must match %s", name, p.Want)
	case ProblemRefused:
		if p.Path == "" {
			return "no arguments are allowed"
		}
		return name + " is not allowed"
	}
	return name + " is wrong"
}

// Name is the path without its first slash. It is empty for the arguments as a whole.
func (p Problem) Name() string {
	return jsonx.UnescapePointer(strings.TrimPrefix(p.Path, "/"))
}

func (p Problem) bounds() string {
	switch {
	case p.Min != nil && p.Max != nil:
		return fmt.Sprintf("%s to %s", number(*p.Min), number(*p.Max))
	case p.Min != nil:
		return "at least " + number(*p.Min)
	case p.Max != nil:
		return "at most " + number(*p.Max)
	}
	return "within range"
}

func number(f float64) string {
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return ", did you mean " + strconv.Quote(name) + "?"
}
