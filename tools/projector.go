package tools

import (
	"bytes"
	"encoding/json"
)

// projector copies parts of valid, compact JSON.
type projector struct {
	in  []byte
	pos int
	out []byte
}

// keep copies what t keeps of the value at pos and moves behind it.
func (p *projector) keep(t tree) {
	switch c := p.in[p.pos]; {
	case t != nil && c == '{':
		p.keepMembers(t)
	case t != nil && c == '[':
		p.keepItems(t)
	default:
		start := p.pos
		p.skip()
		p.out = append(p.out, p.in[start:p.pos]...)
	}
}

func (p *projector) keepMembers(t tree) {
	p.open()
	first := true
	for p.in[p.pos] != '}' {
		start := p.pos
		p.skipString()
		name := p.in[start:p.pos]
		p.pos++ // colon
		branch, wanted := t.find(name)
		if !wanted {
			p.skip()
			p.skipComma()
			continue
		}
		if !first {
			p.out = append(p.out, ',')
		}
		first = false
		p.out = append(append(p.out, name...), ':')
		p.keep(branch)
		p.skipComma()
	}
	p.close()
}

func (p *projector) keepItems(t tree) {
	p.open()
	for p.in[p.pos] != ']' {
		p.keep(t)
		if p.in[p.pos] == ',' {
			p.out = append(p.out, ',')
			p.pos++
		}
	}
	p.close()
}

// find looks a quoted member name up.
func (t tree) find(quoted []byte) (branch tree, ok bool) {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		branch, ok = t[string(inner)]
		return branch, ok
	}
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		return nil, false
	}
	branch, ok = t[name]
	return branch, ok
}

func (p *projector) open()  { p.copyByte() }
func (p *projector) close() { p.copyByte() }

func (p *projector) copyByte() {
	p.out = append(p.out, p.in[p.pos])
	p.pos++
}

func (p *projector) skipComma() {
	if p.in[p.pos] == ',' {
		p.pos++
	}
}

// skip moves behind the value at pos.
func (p *projector) skip() {
	switch p.in[p.pos] {
	case '"':
		p.skipString()
	case '{', '[':
		p.skipNested()
	default:
		for p.pos < len(p.in) && !isEnd(p.in[p.pos]) {
			p.pos++
		}
	}
}

func isEnd(c byte) bool { return c == ',' || c == '}' || c == ']' }

func (p *projector) skipNested() {
	for depth := 0; ; {
		switch p.in[p.pos] {
		case '"':
			p.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		p.pos++
		if depth == 0 {
			return
		}
	}
}

// skipString moves behind the string at pos: behind the next quote that an
// even number of backslashes stands before.
func (p *projector) skipString() {
	for p.pos++; ; p.pos++ {
		p.pos += bytes.IndexByte(p.in[p.pos:], '"')
		slashes := 0
		for p.in[p.pos-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			p.pos++
			return
		}
	}
}
