package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/test/golden"
)

// setup adds its entry to the file of every client and changes nothing else. --undo restores the file
// byte for byte, and leaves no backup. For clients without a file, setup prints the steps. Linux paths
// stand for those of other systems.
func TestClientsFiles(t *testing.T) {
	t.Parallel()
	before, err := txtar.ParseFile("testdata/clients.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]txtar.File{}
	for _, f := range before.Files {
		client, path, _ := strings.Cut(f.Name, "/")
		files[client] = txtar.File{Name: path, Data: f.Data}
	}
	binary := regexp.MustCompile(`/[^"\n]*/toolfold(\.test)?("?)`)
	after := &txtar.Archive{Comment: []byte("The files of clients.txtar after setup --write.\n")}
	for i := range hosts.Hosts {
		h, m := &hosts.Hosts[i], newSandbox(t)
		f, ok := files[h.Name]
		if !ok {
			out, err := m.command(t, "setup", "--write", h.Name).CombinedOutput()
			if err == nil || h.Path != nil {
				t.Errorf("testdata/clients.txtar has no file of %s: %s", h.Title, out)
			}
			after.Files = append(after.Files, txtar.File{Name: h.Name, Data: out})
			continue
		}
		path := filepath.Join(m.home, f.Name)
		m.write(t, path, string(f.Data))
		for _, option := range []string{"--write", "--undo"} {
			if out, err := m.command(t, "setup", option, h.Name).CombinedOutput(); err != nil {
				t.Errorf("setup %s %s: %v\n%s", option, h.Name, err, out)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if option == "--undo" && string(text) != string(f.Data) {
				t.Errorf("%s: the file was\n%s\nand is\n%s", h.Title, f.Data, text)
			}
			if option == "--write" {
				after.Files = append(after.Files, txtar.File{Name: h.Name + "/" + f.Name, Data: binary.ReplaceAll(text, []byte(`toolfold$2`))})
			}
		}
		if left, err := filepath.Glob(path + "*"); err != nil || len(left) != 1 {
			t.Errorf("%s: of the file are left %v (%v)", h.Title, left, err)
		}
	}
	golden.Compare(t, "testdata/clients-after.txtar", string(txtar.Format(after)))
}
