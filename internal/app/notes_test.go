package app

import (
	"strings"
	"testing"

	"github.com/toolfold/toolfold/tools/config"
)

// TestNotesFolder checks when notes are not files, and the reasons.
func TestNotesFolder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		folder  string
		trusted bool
		callers bool
		want    string // piece of the reason; empty = they are files
	}{
		{".toolfold/notes", true, false, ""},
		{"docs/notes/", true, false, ""},
		{".toolfold/notes", false, false, "toolfold trust /work"},
		{".toolfold/notes", true, true, "this server has no workspace"},
		{"/tmp/notes", true, false, "folder of its own"},
		{"../notes", true, false, "folder of its own"},
		{".", true, false, "folder of its own"},
		{".toolfold", true, false, "folder of its own"},
		{".toolfold/abilities", true, false, "folder of its own"},
		{".toolfold//policies/x", true, false, "folder of its own"},
	} {
		h := Host{NotesFolder: test.folder, NotesByCaller: test.callers, Trusted: func() bool { return test.trusted },
			Files: config.Files{Workspace: "/work"}}
		if got := h.noNotesFolder(); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%+v: got %q", test, got)
		}
	}
}
