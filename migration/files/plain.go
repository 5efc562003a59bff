package files

import (
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// assignment matches a line of an env file.
var assignment = regex.Lazy(`(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*=[ \t]*(.*?)[ \t\r]*$`)

// variables handles an env file.
func (p part) variables() {
	for _, m := range assignment().FindAllStringSubmatchIndex(p.text, -1) {
		w := shellWord{from: m[4], to: m[5]}
		if value := p.text[m[4]:m[5]]; len(value) > 1 && strings.ContainsRune(`"'`, rune(value[0])) && value[len(value)-1] == value[0] {
			w.from, w.to = w.from+1, w.to-1
		}
		p.variable(p.text[m[2]:m[3]], w)
	}
}

// instruction matches an instruction of a Dockerfile with its continuation lines.
var instruction = regex.Lazy(`(?m)^[ \t]*([A-Za-z]+)[ \t]+((?:.*\\\r?\n)*.*)$`)

// pair matches a variable in an instruction of a Dockerfile.
var pair = regex.Lazy(`([A-Za-z_][A-Za-z0-9_]*)=("[^"]*"|'[^']*'|\S*)`)

// dockerfile handles the instructions that run commands or set variables.
func (p part) dockerfile() {
	for _, m := range instruction().FindAllStringSubmatchIndex(p.text, -1) {
		rest := p.sub(m[4], m[5])
		switch strings.ToUpper(p.text[m[2]:m[3]]) {
		case "RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK":
			if n, ok := rest.object(); ok && n.kind == listNode {
				data{part: rest, keys: []string{"command"}}.value(n)
			} else {
				rest.shell()
			}
		case "ENV", "ARG":
			rest.settings()
		}
	}
}

// settings handles the variables of an instruction: A=1 B="2 3", or A followed by its value.
func (p part) settings() {
	pairs := pair().FindAllStringSubmatchIndex(p.text, -1)
	if len(pairs) == 0 {
		name, value, _ := strings.Cut(p.text, " ")
		p.variable(name, shellWord{from: len(p.text) - len(value), to: len(p.text)})
	}
	for _, m := range pairs {
		w := shellWord{from: m[4], to: m[5]}
		if value := p.text[m[4]:m[5]]; len(value) > 1 && strings.ContainsRune(`"'`, rune(value[0])) && value[len(value)-1] == value[0] {
			w.from, w.to = w.from+1, w.to-1
		}
		p.variable(p.text[m[2]:m[3]], w)
	}
}

// plain handles plain text. A line that is exactly a name stays unchanged, because it may belong to
// a list that a program reads.
func (p part) plain() {
	for _, n := range p.names() {
		from := strings.LastIndexByte(p.text[:n.start], '\n') + 1
		to := len(p.text)
		if end := strings.IndexByte(p.text[n.end:], '\n'); end >= 0 {
			to = n.end + end
		}
		switch line := strings.TrimSpace(p.text[from:to]); {
		case line != p.text[n.start:n.end]:
			p.inProse(n, true)
		case n.prefix != "":
			p.reportRule(n, noEffect)
		}
	}
}
