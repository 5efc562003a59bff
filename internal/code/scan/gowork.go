package scan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/toolfold/toolfold/internal/system/outside"
	"github.com/toolfold/toolfold/internal/system/safefile"
)

// maxWork bounds go.work and the files beside it, in bytes.
const maxWork = 16 << 20

// goWork returns the go.work for the go command, or off if the workspace has none. It is a copy
// outside of the workspace, because the go command writes module sums beside it. With vendored
// modules no sums are written, so the original is used. Call clean to remove the copy.
func goWork(root *os.Root, dir string) (name string, clean func(), err error) {
	clean = func() {}
	text, err := safefile.Read(root, "go.work", maxWork)
	if err != nil {
		return "off", clean, nil
	}
	vendored, err := safefile.Read(root, filepath.Join("vendor", "modules.txt"), maxWork)
	if err == nil && strings.HasPrefix(string(vendored), "## workspace\n") {
		return filepath.Join(dir, "go.work"), clean, nil
	}
	folder, err := outside.Temp(dir)
	if err != nil {
		return "off", clean, err
	}
	clean = func() { _ = os.RemoveAll(folder) }
	sums, _ := safefile.Read(root, "go.work.sum", maxWork)
	name = filepath.Join(folder, "go.work")
	for file, text := range map[string][]byte{name: absoluteWork(dir, text), name + ".sum": sums} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			clean()
			return "off", func() {}, fmt.Errorf("copying go.work: %w", err)
		}
	}
	return name, clean, nil
}

// absoluteWork returns a go.work with absolute paths, or text itself if it does not parse.
func absoluteWork(dir string, text []byte) []byte {
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return text
	}
	absolute := func(name string) string {
		if name = filepath.FromSlash(name); !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return filepath.ToSlash(name)
	}
	var uses []*modfile.Use
	for _, use := range work.Use {
		uses = append(uses, &modfile.Use{Path: absolute(use.Path)})
	}
	work.SetUse(uses)
	for _, r := range work.Replace {
		if r.New.Version == "" { // a folder
			if err := work.AddReplace(r.Old.Path, r.Old.Version, absolute(r.New.Path), ""); err != nil {
				return text
			}
		}
	}
	return modfile.Format(work.Syntax)
}
