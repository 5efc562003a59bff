package page

import (
	"net/http"
	"strings"

	"github.com/toolfold/toolfold"
)

// serversView is the data of the page of all servers.
type serversView struct {
	*state
	Find  string  // what the user looks for; empty = nothing
	Found []found // of the servers that have something
	Left  int     // tools that match and are not shown
}

// found has the tools of a server that match.
type found struct {
	Server   string
	Families []branch
}

// branch is a family in a tree of tools, with those of its actions that match.
type branch struct {
	*toolfold.Family
	Matching []*toolfold.Action
}

// tree is the data of a tree of tools.
type tree struct {
	Find     string
	Branches []branch
}

// mostFound is how many tools of all servers a search shows.
const mostFound = 200

// servers shows the servers, and their tools with the words that the user looks for.
func (p *Page) servers(r *http.Request) (any, error) {
	s, err := p.machine.read()
	if err != nil {
		return nil, err
	}
	v := serversView{state: s, Find: strings.TrimSpace(r.URL.Query().Get("find"))}
	if v.Find == "" {
		return v, nil
	}
	room := mostFound
	for _, one := range s.Servers {
		f := found{Server: one.Name}
		for _, b := range branches(one.Families, v.Find) {
			taken := min(room, len(b.Matching))
			v.Left += len(b.Matching) - taken
			room -= taken
			if b.Matching = b.Matching[:taken]; taken > 0 {
				f.Families = append(f.Families, b)
			}
		}
		if len(f.Families) > 0 {
			v.Found = append(v.Found, f)
		}
	}
	return v, nil
}

// branches returns the families with the actions that have all words of a text, in their names or descriptions.
// Without words all match.
func branches(families []*toolfold.Family, text string) (tree []branch) {
	words := strings.Fields(strings.ToLower(text))
	for _, f := range families {
		b := branch{Family: f}
		for _, a := range f.Actions {
			if matches(f, a, words) {
				b.Matching = append(b.Matching, a)
			}
		}
		if len(b.Matching) > 0 || len(words) == 0 {
			tree = append(tree, b)
		}
	}
	return tree
}

// matches reports whether an action has all words, each also as a part of a word.
func matches(f *toolfold.Family, a *toolfold.Action, words []string) bool {
	has := strings.ToLower(strings.Join([]string{f.Name, f.Summary, a.Name, a.Summary, a.Doc, original(a)}, "\n"))
	for _, word := range words {
		if !strings.Contains(has, word) {
			return false
		}
	}
	return true
}
