// Package doctor has the command doctor. It reports costs and faults of lists of tools, and which tools
// are called.
package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// Command returns the command.
func Command() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "count the tokens of lists of tools, and check their definitions",
		ArgsUsage: "[FILE… | --command PROGRAM [-- ARG…]]",
		Description: "Without a source it counts toolfold's own surfaces. A FILE is an answer to tools/list.\n" +
			"Programs of --command and --client run with your rights, as when a client starts them.\n\n" +
			"toolfold doctor list.json --budget 2000\n" +
			"toolfold doctor --compare before.json after.json --max-growth 5\n" +
			"toolfold doctor --command npx -- -y @modelcontextprotocol/server-everything\n" +
			"toolfold doctor --client all",
		Flags: append(settings.Flags("toolMode", "listing", "for", "store"), env.JSONFlag,
			&cli.IntFlag{Name: "budget", Usage: "fail when the list, or the surface that the options choose, costs more tokens than this"},
			&cli.StringFlag{Name: "compare", Usage: "print the changes since the list in this file"},
			&cli.Float64Flag{Name: "max-growth", Usage: "with --compare: fail when the list grew by more than this, in percent"},
			&cli.IntFlag{Name: "window", Usage: "context window that shares are given of, in tokens", Value: doctor.DefaultWindow},
			&cli.BoolFlag{Name: "calls", Usage: fmt.Sprintf("add the tokens of the calls in the newest %d traces of the store", newestTraces)},
			&cli.BoolFlag{Name: upstreamsSource, Usage: "count the upstreams, raw and folded, and their calls"},
			&cli.StringFlag{Name: "html", Usage: "write a page with charts to this file"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the report: text, json, or markdown for a pull request"},
			&cli.StringFlag{Name: "count-with", Usage: "let anthropic, or anthropic:MODEL, count too: it gets the lists, with the key in " +
				"ANTHROPIC_API_KEY, at ANTHROPIC_BASE_URL if that is set"},
			&cli.StringFlag{Name: "save", Usage: "write the list to this file, for --compare"},
			&cli.StringFlag{Name: "command", Usage: "start this program and ask it for its tools; its arguments follow --"},
			&cli.StringFlag{Name: "url", Usage: "ask the server at this address for its tools"},
			&cli.StringSliceFlag{Name: "client", Usage: "ask the servers in the settings of this client: " + strings.Join(hosts.Readable(), ", ") +
				", or all"},
			&cli.StringSliceFlag{Name: "config", Usage: "ask the servers in this settings file of a client"},
			&cli.StringSliceFlag{Name: "header", Usage: "with --url: send this header, as Name: value"},
			servers.TimeoutFlag,
		),
		Action: action,
	}
}

// Sources of lists. By default, toolfold's own surfaces are counted.
const (
	ownSurfaces = "toolfold's own surfaces"
	listFiles   = "files"
	commandFlag = "command"
	urlFlag     = "url"
	clientFlag  = "client"
	configFlag  = "config"

	upstreamsSource = "upstreams"
)

func action(c *cli.Context) error {
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	source, err := sourceOf(c)
	if err != nil {
		return err
	}
	asJSON := c.Bool(env.JSONFlag.Name) || c.String("format") == "json"
	report := doctor.FullReport{Version: env.Version(), Date: time.Now().UTC().Truncate(time.Second)}
	lists, missing := listsOf(c, o, source)
	if missing != nil && (!asJSON || lists == nil) {
		return missing
	}
	if report.Inspection, err = doctor.Inspect(lists, c.Int("window")); err != nil {
		return err
	}
	if missing != nil {
		return errors.Join(env.PrintJSON(c, report), missing)
	}
	if source == ownSurfaces {
		own, err := doctor.Measure(app.Families())
		if err != nil {
			return err
		}
		report.Surfaces, report.Choices = own.Surfaces, own.Choices
		report.Advice = settings.ListAdvice(report.Servers[0].Tokens, o.SurfaceOptions().Level)
		if report.LegacyCalls, err = legacyCalls(c.Context, o); err != nil {
			fmt.Fprintf(c.App.ErrWriter, "toolfold: calls by legacy names: %v\n", err)
		}
	}
	if source == upstreamsSource {
		if err := addUpstreams(c, &report); err != nil {
			return err
		}
	}
	if source == ownSurfaces || source == upstreamsSource {
		if report.Rules, err = lapsedRules(c); err != nil {
			fmt.Fprintf(c.App.ErrWriter, "toolfold: rules: %v\n", err)
		}
	}
	if c.Bool("calls") {
		calls, err := tracedCalls(c.Context, o)
		if err != nil {
			return err
		}
		report.Calls = doctor.CallCosts(calls)
	}
	if c.IsSet("count-with") {
		if report.Counted, err = countWith(c, lists); err != nil {
			return err
		}
	}
	if base := c.String("compare"); base != "" {
		before, err := readList(base)
		if err != nil {
			return err
		}
		compared, err := doctor.Compare(before, lists[0])
		if err != nil {
			return err
		}
		report.Compared = &compared
	}
	if path := c.String("save"); path != "" {
		if err := os.WriteFile(path, append(ordered.MustJSON(lists[0]), '\n'), 0o666); err != nil {
			return fmt.Errorf("saving the list: %w", err)
		}
	}
	if path := c.String("html"); path != "" {
		var page bytes.Buffer
		if err := report.WritePage(&page); err != nil {
			return err
		}
		if err := os.WriteFile(path, page.Bytes(), 0o666); err != nil {
			return fmt.Errorf("writing the page: %w", err)
		}
	}
	switch {
	case asJSON:
		err = env.PrintJSON(c, report)
	case c.String("format") == "markdown":
		err = report.WriteMarkdown(c.App.Writer)
	default:
		p := printer{w: c.App.Writer, bars: env.Of(c).OnTerminal(), width: env.Of(c).Terminal().Width}
		err = p.print(report)
	}
	if err != nil {
		return err
	}
	return checkLimits(c, report)
}

// anthropicAPI is the address of the API of Anthropic.
const anthropicAPI = "https://api.anthropic.com"

// countWith returns the token counts of the API that --count-with names.
func countWith(c *cli.Context, lists []doctor.List) ([]doctor.APICount, error) {
	_, model, _ := strings.Cut(c.String("count-with"), ":")
	api := doctor.Anthropic{URL: cmp.Or(os.Getenv("ANTHROPIC_BASE_URL"), anthropicAPI), Key: os.Getenv("ANTHROPIC_API_KEY"), Model: model}
	if api.Key == "" {
		return nil, env.UsageError("--count-with anthropic needs a key in the environment variable ANTHROPIC_API_KEY")
	}
	ctx, cancel := context.WithTimeout(c.Context, time.Minute)
	defer cancel()
	counted, err := api.Count(ctx, lists)
	if err != nil {
		return nil, fmt.Errorf("--count-with: %w", err)
	}
	return counted, nil
}

// listsOf returns the lists of a source. On an error, the last list has the reason, or the result is
// nil if the command line is wrong.
func listsOf(c *cli.Context, o *settings.Options, source string) ([]doctor.List, error) {
	switch source {
	case ownSurfaces:
		return []doctor.List{ownList(o)}, nil
	case upstreamsSource:
		return nil, nil // upstreams have their own report
	case clientFlag, configFlag:
		return askClients(c, o)
	case commandFlag, urlFlag:
		return askServer(c)
	}
	var lists []doctor.List
	for _, path := range c.Args().Slice() {
		l, err := readList(path)
		if err != nil {
			return append(lists, doctor.List{Server: path, Source: path, Problem: err.Error()}), err
		}
		lists = append(lists, l)
	}
	return lists, nil
}

// checkLimits returns an error if a list is missing, or above --budget or --max-growth.
func checkLimits(c *cli.Context, report doctor.FullReport) error {
	var missing []string
	for _, s := range report.Servers {
		if s.Problem != "" {
			missing = append(missing, s.Name)
		}
	}
	switch {
	case missing != nil && c.IsSet("budget"):
		return fmt.Errorf("the budget cannot be checked: %s has no list", strings.Join(missing, ", "))
	case missing != nil:
		return fmt.Errorf("no list of %s", strings.Join(missing, ", "))
	}
	for _, total := range report.Totals {
		budget := c.Int("budget")
		if !c.IsSet("budget") || total.Tokens <= budget {
			continue
		}
		what := "the tools"
		if h := hosts.Find(total.Host); h != nil {
			what = "the tools of " + h.Title
		} else if report.Surfaces != nil {
			what = report.Servers[0].Source
		}
		return fmt.Errorf("%s cost %d tokens, more than %d", what, total.Tokens, budget)
	}
	if c.IsSet("max-growth") {
		return report.Compared.Check(c.Float64("max-growth"))
	}
	return nil
}

// sourceOf returns the source of the lists, and rejects options that do not fit together.
func sourceOf(c *cli.Context) (string, error) {
	source := ownSurfaces
	if c.NArg() > 0 {
		source = listFiles
	}
	for _, name := range []string{commandFlag, urlFlag, clientFlag, configFlag, upstreamsSource} {
		switch {
		case !c.IsSet(name) || source == clientFlag && name == configFlag:
		case c.String(name) == "" && (name == commandFlag || name == urlFlag):
			return "", env.UsageError("--%s is empty", name)
		case source == listFiles && name != commandFlag: // the arguments belong to --command
			return "", env.UsageError("--%s does not go with %s: %q", name, listFiles, c.Args().First())
		case source != ownSurfaces && source != listFiles:
			return "", env.UsageError("--%s and --%s exclude each other", source, name)
		default:
			source = name
		}
	}
	for _, name := range []string{"tool-mode", "listing", "for", "calls", "store"} {
		switch {
		case !c.IsSet(name) || source == ownSurfaces || source == upstreamsSource:
		case source == listFiles:
			return "", env.UsageError("--%s is about %s: it does not go with %s", name, ownSurfaces, listFiles)
		default:
			return "", env.UsageError("--%s is about %s: it does not go with --%s", name, ownSurfaces, source)
		}
	}
	if source == upstreamsSource {
		for _, name := range []string{"budget", "compare", "save", "html", "count-with", "format"} {
			if c.IsSet(name) {
				return "", env.UsageError("--%s does not go with --%s", name, upstreamsSource)
			}
		}
	}
	format, counter := c.String("format"), c.String("count-with")
	switch {
	case !slices.Contains([]string{"text", "json", "markdown"}, format):
		return "", env.UsageError("--format must be text, json or markdown, got %q", format)
	case c.Bool(env.JSONFlag.Name) && c.IsSet("format") && format != "json":
		return "", env.UsageError("--json and --format %s exclude each other", format)
	case c.IsSet("count-with") && counter != "anthropic" && !strings.HasPrefix(counter, "anthropic:"):
		return "", env.UsageError("--count-with must be anthropic or anthropic:MODEL, got %q", counter)
	}
	many := source == clientFlag || source == configFlag
	starts := many || source == commandFlag || source == urlFlag
	switch {
	case c.IsSet("header") && source != urlFlag:
		return "", env.UsageError("--header needs --url: the server that it is sent to")
	case c.IsSet("timeout") && !starts:
		return "", env.UsageError("--timeout needs servers: --command, --url, --client or --config")
	case c.Duration("timeout") <= 0:
		return "", env.UsageError("--timeout must be a time above 0, such as 30s")
	case c.IsSet("max-growth") && !c.IsSet("compare"):
		return "", env.UsageError("--max-growth needs --compare: the list that it grew from")
	case (c.IsSet("compare") || c.IsSet("save")) && source == listFiles && c.NArg() > 1:
		return "", env.UsageError("--compare and --save take one list, got %d files", c.NArg())
	case (c.IsSet("compare") || c.IsSet("save")) && many:
		return "", env.UsageError("--compare and --save take one list, not the lists of --%s", source)
	case c.IsSet("budget") && c.Int("budget") < 0:
		return "", env.UsageError("--budget must not be negative")
	case c.IsSet("max-growth") && c.Float64("max-growth") < 0:
		return "", env.UsageError("--max-growth must not be negative")
	case c.Int("window") < 1:
		return "", env.UsageError("--window must be a number of tokens above 0")
	}
	return source, nil
}

// askServer returns the list of the server that --command or --url names.
func askServer(c *cli.Context) ([]doctor.List, error) {
	s, source := upstream.Server{URL: c.String(urlFlag), Header: http.Header{}}, ""
	if program := c.String(commandFlag); program != "" {
		s.Argv, source = append([]string{program}, c.Args().Slice()...), filepath.Base(program)
	}
	for _, header := range c.StringSlice("header") {
		name, value, ok := strings.Cut(header, ":")
		if !ok || name == "" {
			return nil, env.UsageError("--header is written as 'Name: value'")
		}
		s.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if at, err := url.Parse(s.URL); err == nil && s.URL != "" {
		source = at.Scheme + "://" + at.Host // paths and queries may hold secrets
	}
	var l doctor.List
	answer, err := servers.Ask(c, s)
	if err == nil {
		l, err = servers.ListOf(answer)
	}
	if err != nil {
		return []doctor.List{{Server: source, Source: source, Problem: err.Error()}}, fmt.Errorf("%s: %w", source, err)
	}
	l.Source = source
	return []doctor.List{l}, nil
}

// ownList returns the list of the surface that the options select.
func ownList(o *settings.Options) doctor.List {
	so := o.SurfaceOptions()
	families := o.Families()
	l := doctor.ListOf(hosts.Server, workbench.Instructions(surface.New(so), o.Kind(), families), surface.List(families, so),
		len(surface.Tools(families, so)))
	l.Source = fmt.Sprintf("%s tools at listing %s", so.Mode, so.Level)
	return l
}

// maxListFile is the largest size of a file with a list of tools, in bytes.
const maxListFile = 64 << 20

// readList reads a list of tools from a file, or from standard input for "-".
func readList(path string) (doctor.List, error) {
	in, name := os.Stdin, "stdin"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return doctor.List{}, fmt.Errorf("reading a list of tools: %w", err)
		}
		defer file.Close()
		in, name = file, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	text, err := io.ReadAll(io.LimitReader(in, maxListFile+1))
	if err == nil && len(text) > maxListFile {
		err = fmt.Errorf("more than %d bytes", maxListFile)
	}
	if err != nil {
		return doctor.List{}, fmt.Errorf("reading a list of tools: %w", err)
	}
	l, err := doctor.ReadList(text)
	if err != nil && hosts.Owner(path, text) != nil {
		err = errors.New("it names servers, not tools: --config starts them and asks for theirs")
	}
	if err != nil {
		return doctor.List{}, fmt.Errorf("%s: %w", path, err)
	}
	l.Server, l.Source = name, path
	return l, nil
}
