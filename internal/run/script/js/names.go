package js

import "strings"

// space is an object of functions.
type space struct {
	Name    string   `json:"name"`
	Members []member `json:"members"`
}

// member is the function Key of an object, which calls the action Name.
type member struct {
	Key  string `json:"key"`
	Name string `json:"name"`
}

// spaces returns the objects of a program, in the order of names. A name that is not an identifier
// also has the form with underscores, unless this means two actions. Object tools is always there.
func spaces(names []string) (list []space) {
	at := map[string]int{}
	owner := map[string]string{"tools\x00call": ""} // by object and key, the action; "" if it is none or several
	add := func(object, key, name string) {
		i, ok := at[object]
		if !ok {
			i = len(list)
			at[object] = i
			list = append(list, space{Name: object, Members: []member{}})
		}
		if key != "" && owner[object+"\x00"+key] == name {
			list[i].Members = append(list[i].Members, member{key, name})
			owner[object+"\x00"+key] = "" // names may repeat
		}
	}
	each := func(f func(object, key, name string)) {
		for _, name := range names {
			family, action, ok := strings.Cut(name, ".")
			if !ok {
				continue
			}
			for _, object := range forms(family) {
				for _, key := range forms(action) {
					f(object, key, name)
				}
			}
		}
	}
	exact := map[string]bool{}
	for _, name := range names {
		exact[name] = true
	}
	each(func(object, key, name string) {
		place := object + "\x00" + key
		switch was, taken := owner[place]; {
		case !taken || object+"."+key == name:
			owner[place] = name
		case was != name && !exact[object+"."+key]:
			owner[place] = ""
		}
	})
	add("tools", "", "")
	each(add)
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
