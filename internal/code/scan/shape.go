package scan

import "strings"

// functionAt returns the index of the first token of the function whose body begins with the brace at
// open; ok is false if the brace begins something else.
func (s *source) functionAt(open int) (start int, ok bool) {
	if !s.is(open, "{") {
		return 0, false
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
		return i, true
	}
	// There may be a return type between the parameters and the brace.
	for steps := 0; !s.is(i, ")") || i != open-1 && !arrow && !s.is(i+1, ":") || arrow && i != open-2 && !s.is(i+1, ":"); steps++ {
		if steps == 40 || i < 0 || s.oneOf(i, ";", "{", "=", "=>") {
			return 0, false
		}
		if p := s.partner(i); p >= 0 && p < i {
			i = p
		}
		i--
	}
	parameters := s.partner(i)
	if parameters < 0 {
		return 0, false
	}
	before := parameters - 1
	if arrow {
		start = parameters
		if s.oneOf(before-1, "=") || s.is(before, "=") {
			for j := before; j > before-4; j-- {
				if s.is(j, "=") && s.isName(j-1) {
					start = j - 1
				}
			}
		}
		return start, true
	}
	if s.oneOf(before, "if", "for", "while", "switch", "catch", "with") || s.is(before, "await") {
		return 0, false
	}
	start = before
	isNamed := s.isName(before)
	if isNamed {
		before--
	}
	if s.is(before, "*") {
		before--
	}
	if s.is(before, "function") {
		return before, true
	}
	return start, isNamed && !s.oneOf(before, ".", "new")
}

// goFunctionAt is functionAt for Go.
func (s *source) goFunctionAt(open int) (start int, ok bool) {
	for i := open - 1; i >= 0 && i > open-200; i-- {
		if s.oneOf(i, "{", "}", ";", "if", "for", "switch", "select", "case", "struct", "interface", ":=", "=") {
			return 0, false
		}
		if s.is(i, "func") {
			j := i + 1
			if s.is(j, "(") && s.isName(s.partner(j)+1) { // a receiver
				j = s.partner(j) + 1
			}
			if s.isName(j) {
				j++
			}
			if s.is(j, "[") {
				j = s.partner(j) + 1
			}
			return i, s.is(j, "(")
		}
		if p := s.partner(i); p >= 0 && p < i {
			i = p
		}
	}
	return 0, false
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
