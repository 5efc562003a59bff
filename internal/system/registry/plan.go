package registry

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// Kind is the destination of a value.
type Kind string

// The kinds, which are also the names of command-line flags.
const (
	Env    Kind = "env"
	Header Kind = "header"
	Arg    Kind = "arg" // also for parts of a URL
)

// Question is a value that the user may have to provide.
type Question struct {
	Kind Kind
	Name string
	Input
}

// Needed reports whether an answer is required.
func (q Question) Needed() bool { return q.IsRequired && q.Default == "" }

// Answers holds the user's values, by kind and name.
type Answers map[Kind]map[string]string

// Way is one way to start or reach a server: a package or a remote.
type Way struct {
	Type    string // npm, pypi, oci, nuget or mcpb; remote
	Problem error  // why it cannot be used; nil = it can
	Runner  string // the program that starts it; empty = it has a URL
	Moves   bool   // the package is named by a tag, which its owner can move

	before, after []Argument // arguments before and after the package
	packaged      []string   // the package, as arguments of the runner
	url           string
	sse           bool
	variables     map[string]Input // of the URL
	env, headers  []KeyValue
}

// Settings describe how to start or reach a server.
type Settings struct {
	Command []string // program and arguments; nil = it has a URL
	Env     map[string]string
	URL     string
	SSE     bool
	Headers map[string]string
}

// Ways lists the ways of a server in order, packages first.
func (s Server) Ways() (ways []Way) {
	for _, p := range s.Packages {
		w := Way{Type: p.RegistryType, env: p.EnvironmentVariables}
		w.Problem = w.start(p)
		if w.Problem == nil {
			w.Problem = w.check()
		}
		ways = append(ways, w)
	}
	for _, r := range s.Remotes {
		w := Way{Type: "remote", url: r.URL, sse: r.Type == "sse", headers: r.Headers, variables: r.Variables}
		if r.Type != "sse" && r.Type != "streamable-http" {
			w.Problem = fmt.Errorf("the transport %s is not known", quote(r.Type))
		} else {
			w.Problem = w.check()
		}
		ways = append(ways, w)
	}
	return ways
}

// source describes a type of package.
type source struct {
	runners []string // the first is the default
	home    string   // the domain of its packages; empty = any
	form    func() *regexp.Regexp
	options []string // options of the runner that server.json may set
	ignored []string // options that are always set, so they are dropped
}

// Valid package names. None begins with a dash, so that it cannot be an option.
var (
	npmName   = regex.Lazy(`^(@[a-z0-9_][a-z0-9._-]*/)?[a-z0-9_][A-Za-z0-9._-]*$`)
	pypiName  = regex.Lazy(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	nugetName = regex.Lazy(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	imageName = regex.Lazy(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
	imageTag  = regex.Lazy(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	digest    = regex.Lazy(`^sha256:[0-9a-f]{64}$`)
)

// sources describes the supported types of packages.
var sources = map[string]source{
	"npm":   {[]string{"npx"}, "npmjs.org", npmName, nil, []string{"-y", "--yes"}},
	"pypi":  {[]string{"uvx"}, "pypi.org", pypiName, []string{"--python"}, nil},
	"nuget": {[]string{"dnx"}, "nuget.org", nugetName, nil, []string{"-y", "--yes"}},
	"oci": {[]string{"docker", "podman"}, "", nil,
		append([]string{"-e", "--env", "--tmpfs", "-w", "--workdir", "--init", "--platform", "--read-only"}, volumes...),
		[]string{"run", "-i", "--interactive", "--rm"}},
}

// volumes lists the options that mount a folder of the user in a container.
var volumes = []string{"-v", "--volume", "--mount"}

// start sets the fields for a package.
func (w *Way) start(p Package) error {
	if w.Type == "mcpb" {
		return errors.New("it is a bundle (mcpb), which desktop clients unpack and run; no runner does")
	}
	from, known := sources[p.RegistryType]
	switch {
	case !known:
		return fmt.Errorf("packages of %s are not known", quote(p.RegistryType))
	case p.Transport.Type != "stdio":
		return fmt.Errorf("it is started here, and talked to by %s: only stdio is supported", quote(p.Transport.Type))
	case p.FileSHA256 != "":
		return errors.New("its file is to be checked by a SHA-256, which no runner does")
	case p.RuntimeHint != "" && !slices.Contains(from.runners, p.RuntimeHint):
		return fmt.Errorf("it is to be started by %s: only %s is supported", quote(p.RuntimeHint), strings.Join(from.runners, " and "))
	}
	if w.Runner = p.RuntimeHint; w.Runner == "" {
		w.Runner = from.runners[0]
	}
	w.after = p.PackageArguments
	var err error
	if p.RegistryType == "oci" {
		err = w.image(p)
	} else {
		err = w.nameFrom(p, from)
	}
	if err != nil {
		return err
	}
	w.before, err = options(p, from)
	return err
}

// nameFrom sets the package of a type with a single home.
func (w *Way) nameFrom(p Package, from source) error {
	if !from.form().MatchString(p.Identifier) {
		return fmt.Errorf("%s is no name of a package of %s", quote(p.Identifier), p.RegistryType)
	}
	if at, err := url.Parse(p.RegistryBaseURL); p.RegistryBaseURL != "" &&
		(err != nil || at.Scheme != "https" || at.Host != from.home && !strings.HasSuffix(at.Host, "."+from.home)) {
		return fmt.Errorf("its package is at %s, which %s does not ask", quote(p.RegistryBaseURL), w.Runner)
	}
	if err := checkVersion(p.Version); err != nil {
		return err
	}
	switch p.RegistryType {
	case "npm":
		w.packaged = []string{"-y", p.Identifier + "@" + p.Version}
	case "pypi":
		w.packaged = []string{"--from", p.Identifier + "==" + p.Version, p.Identifier}
	case "nuget":
		w.packaged = []string{p.Identifier + "@" + p.Version, "--yes"}
		if len(w.after) > 0 {
			w.packaged = append(w.packaged, "--")
		}
	}
	return nil
}

// image sets the package of a container. Its version is part of the identifier or in a separate
// field.
func (w *Way) image(p Package) error {
	rest, sum, hasSum := strings.Cut(p.Identifier, "@")
	name, tag := rest, p.Version
	if at := strings.LastIndex(rest, ":"); at > strings.LastIndex(rest, "/") {
		name, tag = rest[:at], rest[at+1:]
		if p.Version != "" && p.Version != tag {
			return fmt.Errorf("its image has the tag %s and the version %s", quote(tag), quote(p.Version))
		}
	}
	if base := strings.TrimSuffix(p.RegistryBaseURL, "/"); base != "" {
		host, secure := strings.CutPrefix(base, "https://")
		if !secure {
			return fmt.Errorf("its image is at %s, which is not https", quote(base))
		}
		if host != "docker.io" && !strings.HasPrefix(name, host+"/") {
			name = host + "/" + name
		}
	}
	switch {
	case !imageName().MatchString(name):
		return fmt.Errorf("%s is no name of an image", quote(p.Identifier))
	case hasSum && !digest().MatchString(sum):
		return fmt.Errorf("%s is no digest of an image", quote(sum))
	case tag == "" && !hasSum, strings.EqualFold(tag, "latest") && !hasSum:
		return fmt.Errorf("its image %s has no version, so it cannot be pinned", quote(p.Identifier))
	case tag != "" && !imageTag().MatchString(tag):
		return fmt.Errorf("%s is no tag of an image", quote(tag))
	}
	image := name
	if tag != "" {
		image += ":" + tag
	}
	if hasSum {
		image += "@" + sum
	}
	w.Moves = !hasSum
	w.packaged = []string{image}
	return nil
}

// options returns the arguments of the runner. A registry may not set most options: they could
// replace the package, or give it access to the user's machine.
func options(p Package, from source) (list []Argument, err error) {
	for _, a := range p.RuntimeArguments {
		option := a.Name
		if a.Type == "positional" {
			option = a.Value
		}
		option, _, _ = strings.Cut(option, "=")
		switch {
		case slices.Contains(from.ignored, option):
		case slices.Contains(volumes, a.Name) && a.Value != "" && !braces().MatchString(a.Value):
			return nil, fmt.Errorf("its container is to get %s, which the user does not choose: add it by hand", quote(a.Value))
		case a.Type == "named" && slices.Contains(from.options, option) && option == a.Name:
			list = append(list, a)
		default:
			return nil, fmt.Errorf("its runner is to get %s, which a registry may not give: add it by hand", quote(option))
		}
	}
	return list, nil
}

// powers matches environment variables that change which program runs, or where it comes from.
var powers = regex.Lazy(`(?i)^(PATH|HOME|SHELL|ENV|BASH_ENV|LD_.*|DYLD_.*|NODE_(OPTIONS|PATH)|PYTHON(PATH|HOME|STARTUP)|NPM_CONFIG_.*|` +
	`UV_.*|PIP_.*|DOCKER_.*|DOTNET_.*|NUGET_.*|XDG_.*|DBUS_.*|SSL_CERT_.*|.*_PROXY)$`)

// connection lists the headers of the connection, which a server must not set.
var connection = []string{"host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "mcp-session-id"}

// check returns an error for inputs that are invalid or request the user's own data.
func (w *Way) check() error {
	seen := map[string]bool{}
	inputs := len(w.env) + len(w.headers) + len(w.before) + len(w.after) + len(w.variables)
	if inputs > maxInputs {
		return fmt.Errorf("it has %d values, and at most %d are allowed", inputs, maxInputs)
	}
	for _, v := range w.env {
		switch {
		case !variable().MatchString(v.Name):
			return fmt.Errorf("%s is no name of an environment variable", quote(v.Name))
		case powers().MatchString(v.Name):
			return fmt.Errorf("it is to get the environment variable %s, which can change the program that runs: add it by hand", v.Name)
		case seen[v.Name]:
			return fmt.Errorf("it has the environment variable %s twice", v.Name)
		}
		seen[v.Name] = true
	}
	for _, h := range w.headers {
		name := strings.ToLower(h.Name)
		switch {
		case !header().MatchString(h.Name) || slices.Contains(connection, name):
			return fmt.Errorf("%s is no header that a server can have", quote(h.Name))
		case seen[name]:
			return fmt.Errorf("it has the header %s twice", h.Name)
		}
		seen[name] = true
	}
	for _, a := range slices.Concat(w.before, w.after) {
		if a.Type != "positional" && a.Type != "named" || a.Type == "named" && !optionName().MatchString(a.Name) {
			return fmt.Errorf("its argument %s is not valid", quote(a.Name))
		}
	}
	for _, q := range w.items() {
		if err := q.Input.check(q.Name); err != nil {
			return err
		}
	}
	return w.compose()
}

var optionName = regex.Lazy(`^-{0,2}[A-Za-z0-9][A-Za-z0-9._:-]*$`)

// check returns an error for an input with hidden characters, or with references to the user's
// variables.
func (i Input) check(name string) error {
	if len(i.Variables) > maxInputs || len(i.Choices) > maxInputs {
		return fmt.Errorf("its %s has too many variables or choices: at most %d", quote(name), maxInputs)
	}
	texts := map[string]string{"name": name, "default": i.Default, "value": i.Value}
	for n, choice := range i.Choices {
		texts[fmt.Sprintf("choice %d", n+1)] = choice
	}
	if err := plain(texts); err != nil {
		return fmt.Errorf("%s: %w", quote(name), err)
	}
	for _, text := range append([]string{i.Default, i.Value}, i.Choices...) {
		if err := checkNoVariable(name, text); err != nil {
			return err
		}
	}
	if i.Default != "" && len(i.Choices) > 0 && !slices.Contains(i.Choices, i.Default) {
		return fmt.Errorf("the default of %s is not one of its choices", quote(name))
	}
	for _, inner := range i.Variables {
		inner.Variables = nil // variables are not nested
		if err := inner.check(name); err != nil {
			return err
		}
	}
	return nil
}

// compose returns an error if texts of the registry, once combined, refer to a variable of the
// user.
func (w *Way) compose() error {
	s, err := w.settings(func(q Question) (string, bool) {
		if q.Default != "" {
			return q.Default, true
		}
		return "x", true
	})
	if err != nil {
		return err
	}
	texts := append(slices.Clone(s.Command), s.URL)
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for _, value := range values {
			texts = append(texts, value)
		}
	}
	for _, text := range texts {
		if hosts.HasVariable(text) {
			return fmt.Errorf("%s asks for a variable of yours", quote(text))
		}
	}
	return nil
}

// items lists the values of the way, with their variables still unfilled.
func (w *Way) items() (list []Question) {
	for _, v := range w.env {
		list = append(list, Question{Env, v.Name, v.Input})
	}
	for _, h := range w.headers {
		list = append(list, Question{Header, h.Name, h.Input})
	}
	for n, a := range slices.Concat(w.before, w.after) {
		list = append(list, Question{Arg, a.label(n), a.Input})
	}
	if w.url != "" {
		list = append(list, Question{Arg, "url", Input{Value: w.url, Variables: w.variables}})
	}
	return list
}

// label returns the user-visible name of an argument.
func (a Argument) label(n int) string {
	switch {
	case a.Type == "named":
		return strings.TrimLeft(a.Name, "-")
	case a.ValueHint != "":
		return a.ValueHint
	}
	return fmt.Sprintf("argument%d", n+1)
}

// Questions lists the values that the user can provide, in order, without duplicates. Inputs whose
// names look secret are secret.
func (w *Way) Questions() (list []Question) {
	for _, item := range w.items() {
		for _, q := range item.questions() {
			if !slices.ContainsFunc(list, func(known Question) bool { return known.Kind == q.Kind && known.Name == q.Name }) {
				q.IsSecret = q.IsSecret || redact.Names(q.Name)
				list = append(list, q)
			}
		}
	}
	return list
}

// braces matches a variable in a value.
var braces = regex.Lazy(`\{([^{}]+)\}`)

// questions lists the questions for a value: itself, or its variables.
func (q Question) questions() (list []Question) {
	if q.Value == "" {
		return []Question{q}
	}
	for _, match := range braces().FindAllStringSubmatch(q.Value, -1) {
		if inner, known := q.Variables[match[1]]; known && inner.Value == "" {
			inner = inner.within(q.Input)
			list = append(list, Question{q.Kind, match[1], inner})
		}
	}
	return list
}

// Settings returns how to start or reach the server with the answers. An error names an invalid
// answer.
func (w *Way) Settings(answers Answers) (Settings, error) {
	for _, q := range w.Questions() {
		answer, given := answers[q.Kind][q.Name]
		if !given {
			continue
		}
		if err := q.fits(answer); err != nil {
			return Settings{}, err
		}
	}
	return w.settings(func(q Question) (string, bool) {
		if answer, given := answers[q.Kind][q.Name]; given {
			return answer, true
		}
		return q.Default, q.Default != ""
	})
}

// fits returns an error for an answer that the input does not allow. A reference to the user's
// variable always fits.
func (q Question) fits(answer string) error {
	if hosts.HasVariable(answer) {
		return nil
	}
	allowed := q.Choices
	if q.Format == "boolean" && len(allowed) == 0 {
		allowed = []string{"true", "false"}
	}
	switch {
	case len(allowed) > 0 && !slices.Contains(allowed, answer):
		return fmt.Errorf("%s is one of %s, got %q", q.Name, strings.Join(allowed, ", "), answer)
	case q.Format == "number" && !number().MatchString(answer):
		return fmt.Errorf("%s is a number, got %q", q.Name, answer)
	case strings.ContainsAny(answer, "\r\n\x00"):
		return fmt.Errorf("%s has to be one line", q.Name)
	}
	return nil
}

var number = regex.Lazy(`^-?[0-9]+(\.[0-9]+)?$`)

func (w *Way) settings(answer func(Question) (string, bool)) (s Settings, err error) {
	s = Settings{SSE: w.sse, Env: map[string]string{}, Headers: map[string]string{}}
	value := func(q Question) (string, bool) {
		return fill(q, func(q Question) (string, bool) {
			text, given := answer(q)
			if !given && q.IsRequired {
				err = errors.Join(err, fmt.Errorf("%s is missing", q.Name))
			}
			return text, given
		})
	}
	for _, v := range w.env {
		if text, given := value(Question{Env, v.Name, v.Input}); given {
			s.Env[v.Name] = text
		}
	}
	for _, h := range w.headers {
		if text, given := value(Question{Header, h.Name, h.Input}); given {
			s.Headers[h.Name] = text
		}
	}
	var before, after []string
	for n, a := range slices.Concat(w.before, w.after) {
		words := a.words(value(Question{Arg, a.label(n), a.Input}))
		if n < len(w.before) {
			before = append(before, words...)
		} else {
			after = append(after, words...)
		}
	}
	if w.Runner != "" {
		s.Command = slices.Concat([]string{w.Runner}, w.run(), before, w.packaged, after)
	} else {
		s.URL, _ = value(Question{Arg, "url", Input{Value: w.url, Variables: w.variables, IsRequired: true}})
		err = errors.Join(err, checkURL(s.URL))
	}
	return s, err
}

// run returns the words of a container's command before its options. Variables are passed by name,
// so that their values are not visible in the process list.
func (w *Way) run() []string {
	if w.Type != "oci" {
		return nil
	}
	words := []string{"run", "-i", "--rm"}
	for _, v := range w.env {
		words = append(words, "-e", v.Name)
	}
	return words
}

// words returns an argument as words of the command line.
func (a Argument) words(value string, given bool) []string {
	switch {
	case a.Type == "positional" && given:
		return []string{value}
	case a.Type == "positional":
		return nil
	case given && strings.HasPrefix(a.Name, "--"):
		return []string{a.Name + "=" + value}
	case given:
		return []string{a.Name, value}
	}
	return nil
}

// fill returns a value with its variables filled in. Unknown names in braces stay unchanged.
func fill(q Question, answer func(Question) (string, bool)) (text string, given bool) {
	if q.Value == "" {
		return answer(q)
	}
	given = true
	text = braces().ReplaceAllStringFunc(q.Value, func(match string) string {
		name := match[1 : len(match)-1]
		inner, known := q.Variables[name]
		switch {
		case !known:
			return match
		case inner.Value != "":
			return inner.Value
		}
		value, has := answer(Question{q.Kind, name, inner.within(q.Input)})
		given = given && has
		return value
	})
	return text, given
}

// within returns a variable of a value. It is secret or required if the value is.
func (i Input) within(outer Input) Input {
	i.IsSecret, i.IsRequired = i.IsSecret || outer.IsSecret, i.IsRequired || outer.IsRequired
	return i
}
