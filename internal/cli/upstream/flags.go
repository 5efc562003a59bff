package upstream

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/tools/config"
)

// separators separate name and value in the flags of settings that are maps.
var separators = map[string]string{"env": "=", "headers": ":"}

// programWords are the settings given by the words after --.
var programWords = []string{"command", "args"}

// settingFlags returns a flag for each setting of an upstream except [programWords], from its
// declaration.
func settingFlags() (flags []cli.Flag) {
	for _, p := range config.UpstreamSettings() {
		if slices.Contains(programWords, p.Name) {
			continue
		}
		usage := strings.TrimSuffix(p.Doc, ".")
		if len(p.Enum) > 0 {
			usage += " (" + strings.Join(p.Enum, ", ") + ")"
		}
		category, name := settingHeading(p), settingFlag(p.Name)
		switch {
		case p.Values != nil:
			usage += fmt.Sprintf("; as NAME%svalue, may be repeated", separators[p.Name])
			flags = append(flags, &cli.StringSliceFlag{Category: category, Name: name, Usage: usage})
		case p.Kind == toolfold.KindArray:
			flags = append(flags, &cli.StringSliceFlag{Category: category, Name: name, Usage: usage + "; may be repeated"})
		case p.Kind == toolfold.KindBoolean:
			flags = append(flags, &cli.BoolFlag{Category: category, Name: name, Usage: usage})
		default:
			flags = append(flags, &cli.StringFlag{Category: category, Name: name, Usage: usage})
		}
	}
	return flags
}

// settingFlag returns the name of a setting's flag. The flag of headers is header, because it takes one
// at a time.
func settingFlag(setting string) string {
	if setting == "headers" {
		return "header"
	}
	return settings.FlagName(setting)
}

// settingHeading returns the heading of a setting's flag on help pages.
func settingHeading(p toolfold.Param) string {
	switch name := p.Name; {
	case p.Values != nil, slices.Contains([]string{"cwd", "url", "type", "login", "clientId", "clientSecret", "exchange"}, name):
		return "How it is started or reached"
	case strings.HasSuffix(name, "Limit"), name == "maxTools":
		return "Most that it may send"
	case strings.Contains(name, "solat"), strings.HasPrefix(name, "session"), name == "maxSessions", name == "disabled":
		return "Its process"
	case strings.HasSuffix(name, "Ms"), name == "maxConcurrency", name == "callsPerMinute", name == "repeat":
		return "Calls"
	}
	return "Tools that clients see"
}

// flagValues returns the settings that a command's flags set, by name, as JSON values.
func flagValues(c *cli.Context) (map[string]any, error) {
	values := map[string]any{}
	for _, p := range config.UpstreamSettings() {
		flag := settingFlag(p.Name)
		if slices.Contains(programWords, p.Name) || !c.IsSet(flag) {
			continue
		}
		text := fmt.Sprint(c.Value(flag))
		switch {
		case p.Values != nil:
			pairs, err := pairsOf(flag, separators[p.Name], c.StringSlice(flag))
			if err != nil {
				return nil, err
			}
			text = string(ordered.MustJSON(pairs))
		case p.Kind == toolfold.KindArray:
			text = string(ordered.MustJSON(c.StringSlice(flag)))
		}
		value, err := config.Parse(p, "--"+flag, text)
		if err != nil {
			return nil, env.UsageError("%v", err)
		}
		values[p.Name] = value
	}
	return values, nil
}

// pairsOf parses texts of the form NAME, separator, value.
func pairsOf(flag, separator string, texts []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, text := range texts {
		key, value, ok := strings.Cut(text, separator)
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, env.UsageError("--%s takes NAME%svalue, got %q", flag, separator, redact.Text(text))
		}
		pairs[key] = strings.TrimSpace(value)
	}
	return pairs, nil
}

// words returns the server's name from the arguments, and the program after --.
func words(c *cli.Context) (name string, program []string) {
	name, program = c.Args().First(), c.Args().Tail()
	if len(program) > 0 && program[0] == "--" {
		program = program[1:]
	}
	return name, program
}

// membersOf returns the settings of an upstream as JSON values.
func membersOf(u config.Upstream) map[string]any {
	members := map[string]any{}
	_ = json.Unmarshal(ordered.MustJSON(u), &members) // always an object
	return members
}

// upstreamOf is the inverse of membersOf.
func upstreamOf(members map[string]any) (u config.Upstream, err error) {
	return u, json.Unmarshal(ordered.MustJSON(members), &u)
}

// put applies the settings of flags and the words of a program to members. Maps are merged.
func put(members, flags map[string]any, program []string) map[string]any {
	members = maps.Clone(members)
	for name, value := range flags {
		pairs, is := value.(map[string]any)
		before, was := members[name].(map[string]any)
		if is && was {
			joined := maps.Clone(before)
			maps.Copy(joined, pairs)
			value = joined
		}
		members[name] = value
	}
	if len(program) > 0 {
		members["command"], members["args"] = program[0], program[1:]
	}
	return members
}

// misfit returns an error if settings do not fit together.
func misfit(command string, u config.Upstream) error {
	switch {
	case (u.Command != "") == (u.URL != ""):
		return env.UsageError("%s takes either a program after --, or --url", command)
	case u.Command != "" && len(u.Headers) > 0:
		return env.UsageError("--header goes with --url; a program gets --env")
	case u.Command != "" && (u.Type == "http" || u.Type == "sse"):
		return env.UsageError("--type %s goes with --url", u.Type)
	case u.URL != "" && len(u.Env) > 0:
		return env.UsageError("--env goes with a program; --url takes --header")
	case u.URL != "" && u.Cwd != "":
		return env.UsageError("--cwd goes with a program")
	case u.URL != "" && u.Type == "stdio":
		return env.UsageError("--type stdio goes with a program")
	}
	return nil
}
