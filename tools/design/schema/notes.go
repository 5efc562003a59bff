package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/shorten"
)

const (
	maxNote = 200 // bytes of names in a note; a longer first name is listed too
	maxName = 70  // characters of a name in a note
)

// notes groups the fields and tables that a format cannot fully express by the reason. The zero value is empty.
type notes []note

type note struct {
	reason string
	names  []string
}

// add notes that a reason applies to a name. An empty name stands for the whole text.
func (n *notes) add(reason, name string) {
	i := slices.IndexFunc(*n, func(known note) bool { return known.reason == reason })
	if i < 0 {
		i = len(*n)
		*n = append(*n, note{reason: reason})
	}
	if name != "" && !slices.Contains((*n)[i].names, name) {
		(*n)[i].names = append((*n)[i].names, name)
	}
}

// texts writes a note for each reason, and the number of names that do not fit.
func (n notes) texts() (texts []string) {
	for _, note := range n {
		list := ""
		for i, name := range note.names {
			item := shorten.To(name, maxName)
			if i > 0 && len(list)+len(item) > maxNote {
				list += fmt.Sprintf(" and %d more", len(note.names)-i)
				break
			}
			if i > 0 {
				list += ", "
			}
			list += item
		}
		if list != "" {
			list = ": " + list
		}
		texts = append(texts, strings.ToValidUTF8(note.reason+list, "\ufffd"))
	}
	return texts
}
