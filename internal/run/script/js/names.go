package js

import "strings"

// space is an object of functions, and member the function Key of one, which calls the action Name.
type (
	space struct {
		Name    string   `json:"name"`
		Members []member `json:"members"`
	}
	member struct {
		Key  string `json:"key"`
		Name string `json:"name"`
	}
)

// place is where a program finds a function.
type place struct{ object, key string }

// spaces returns the objects of a program, with tools, which is always there. The object without a name
// has the functions without an object, of names without a dot. A name that is not an identifier also has
// the form with underscores, unless this means several actions.
func spaces(names []string) []space {
	meaning := map[place]string{} // "" = several
	for _, name := range names {
		for _, p := range places(name) {
			if was, taken := meaning[p]; taken && was != name {
				meaning[p] = ""
			} else {
				meaning[p] = name
			}
		}
	}
	for _, name := range names {
		if family, action, ok := strings.Cut(name, "."); ok { // the exact form wins
			meaning[place{family, action}] = name
		}
	}
	delete(meaning, place{"tools", "call"})
	list, at := []space{{"tools", []member{}}}, map[string]int{"tools": 0}
	for _, name := range names {
		for _, p := range places(name) {
			if meaning[p] != name {
				continue
			}
			delete(meaning, p) // names may repeat
			if _, ok := at[p.object]; !ok {
				at[p.object] = len(list)
				list = append(list, space{Name: p.object})
			}
			members := &list[at[p.object]].Members
			*members = append(*members, member{p.key, name})
		}
	}
	return list
}

// places returns where an action could be.
func places(name string) (list []place) {
	family, action, ok := strings.Cut(name, ".")
	if !ok {
		family, action = "", name
	}
	for _, object := range forms(family) {
		for _, key := range forms(action) {
			list = append(list, place{object, key})
		}
	}
	return list
}

// forms returns a name and, if it is no identifier, its form with underscores.
func forms(name string) []string {
	identifier := strings.Map(func(r rune) rune {
		if r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	if identifier == name {
		return []string{name}
	}
	return []string{name, identifier}
}
