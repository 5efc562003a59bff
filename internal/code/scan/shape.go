package scan

import "strings"

// function is a function with a body in braces.
type function struct {
	name       string // empty = anonymous
	start      int    // index of its first token
	parameters int    // index of the bracket before its parameters; -1 if there is no bracket
	open       int    // index of the brace before its body
	async      bool
}

// functionAt returns the function whose body begins with the brace at open; ok is false if the
// brace begins something else.
func (s *source) functionAt(open int) (f function, ok bool) {
	f = function{open: open, parameters: -1}
	if !s.is(open, "{") {
		return f, false
	}
	i := open - 1
	if s.lang == golang {
		return s.goFunctionAt(open)
	}
	arrow := s.is(i, "=>")
	if arrow {
		i--
	}
	if arrow && s.isName(i) && !s.is(i-1, ":") { // x => {
		f.start, f.async = i, s.is(i-1, "async")
		return f, true
	}
	// There may be a return type between the parameters and the brace.
	for steps := 0; !s.is(i, ")") || i != open-1 && !arrow && !s.is(i+1, ":") || arrow && i != open-2 && !s.is(i+1, ":"); steps++ {
		if steps == 40 || i < 0 || s.oneOf(i, ";", "{", "=", "=>") {
			return f, false
		}
		if p := s.partner(i); p >= 0 && p < i {
			i = p
		}
		i--
	}
	if f.parameters = s.partner(i); f.parameters < 0 {
		return f, false
	}
	before := f.parameters - 1
	f.start = before
	if arrow {
		f.start, f.async = f.parameters, s.is(before, "async")
		if s.oneOf(before-1, "=") || s.is(before, "=") {
			for j := before; j > before-4; j-- {
				if s.is(j, "=") && s.isName(j-1) {
					f.name, f.start = s.at(j-1).text, j-1
				}
			}
		}
		return f, true
	}
	if s.oneOf(before, "if", "for", "while", "switch", "catch", "with") || s.is(before, "await") {
		return f, false
	}
	if s.isName(before) {
		f.name = s.at(before).text
		before--
	}
	if s.is(before, "*") {
		before--
	}
	if s.is(before, "function") {
		f.start, f.async = before, s.is(before-1, "async")
		return f, true
	}
	f.async = s.is(before, "async")
	return f, f.name != "" && !s.oneOf(before, ".", "new")
}

// goFunctionAt is functionAt for Go.
func (s *source) goFunctionAt(open int) (f function, ok bool) {
	f = function{open: open, parameters: -1}
	for i := open - 1; i >= 0 && i > open-200; i-- {
		if s.oneOf(i, "{", "}", ";", "if", "for", "switch", "select", "case", "struct", "interface", ":=", "=") {
			return f, false
		}
		if s.is(i, "func") {
			f.start = i
			j := i + 1
			if s.is(j, "(") && s.isName(s.partner(j)+1) { // a receiver
				j = s.partner(j) + 1
			}
			if s.isName(j) {
				f.name = s.at(j).text
				j++
			}
			if s.is(j, "[") {
				j = s.partner(j) + 1
			}
			f.parameters = j
			return f, s.is(j, "(")
		}
		if p := s.partner(i); p >= 0 && p < i {
			i = p
		}
	}
	return f, false
}

// loopsAround counts the loops around a token, up to the function around it.
func (s *source) loopsAround(i int) int {
	loops := 0
	for open := range s.around(i) {
		if s.isLoop(open) {
			loops++
		} else if _, ok := s.functionAt(open); ok {
			return loops
		}
	}
	return loops
}

// isLoop reports whether the brace at open begins the body of a loop.
func (s *source) isLoop(open int) bool {
	if !s.is(open, "{") {
		return false
	}
	head := s.partner(open - 1)
	return s.is(open-1, "do") || s.is(open-1, ")") && (s.oneOf(head-1, "for", "while") || s.is(head-2, "for", "await"))
}

// arguments returns the indexes of the first and the last token of each argument in the brackets at
// open.
func (s *source) arguments(open int) [][2]int {
	end := s.partner(open)
	if end <= open+1 {
		return nil
	}
	var list [][2]int
	for from := open + 1; from < end; {
		comma := s.find(from, end, ",")
		if comma < 0 {
			comma = end
		}
		if comma > from {
			list = append(list, [2]int{from, comma - 1})
		}
		from = comma + 1
	}
	return list
}

// chainStart returns the start of the chain of names and dots that ends at i: the index of a in
// a.b.c. It is -1 if there is no complete chain.
func (s *source) chainStart(i int) int {
	if !s.isName(i) && !s.is(i, "this") {
		return -1
	}
	for s.oneOf(i-1, ".", "?.") && (s.isName(i-2) || s.is(i-2, "this")) {
		i -= 2
	}
	if s.oneOf(i-1, ".", "?.", "]", ")") {
		return -1
	}
	return i
}

// chainEnd returns the end of the chain of names and dots that begins at i. It is -1 if the chain
// continues with a call or an index.
func (s *source) chainEnd(i int) int {
	if !s.isName(i) && !s.is(i, "this") {
		return -1
	}
	for s.oneOf(i+1, ".", "?.") && s.isName(i+2) {
		i += 2
	}
	if s.oneOf(i+1, ".", "?.", "[", "(", "!") && s.sameLine(i, i+1) {
		return -1
	}
	return i
}

// unquote returns the content of a string literal, without substitutions; ok is false for other
// tokens.
func (s *source) unquote(i int) (content string, ok bool) {
	t := s.at(i)
	if t.kind != text {
		return "", false
	}
	content = strings.TrimLeft(t.text, "rRbBfFuU")
	if content == "" || !strings.Contains("\"'`", content[:1]) {
		return "", false
	}
	return strings.Trim(content, content[:1]), true
}
