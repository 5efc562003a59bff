package hosts

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// Paths has the files that may contain the user's list of servers, by system, newest first. ~ is
// the user's home, and ${NAME:-folder} is the folder in a variable, or folder if it is not set.
type Paths struct{ Linux, MacOS, Windows []string }

// Folders of settings.
const (
	xdgConfig   = "${XDG_CONFIG_HOME:-~/.config}"
	appSupport  = "~/Library/Application Support"
	roamingData = "${APPDATA:-~/AppData/Roaming}"
)

// everywhere returns files whose paths are the same on every system.
func everywhere(files ...string) Paths { return Paths{files, files, files} }

// inConfig returns a file in each system's folder for settings of programs.
func inConfig(file string) Paths {
	return apart(xdgConfig+"/"+file, appSupport+"/"+file, roamingData+"/"+file)
}

func apart(linux, macOS, windows string) Paths {
	return Paths{[]string{linux}, []string{macOS}, []string{windows}}
}

// or appends older paths.
func (p Paths) or(older Paths) Paths {
	return Paths{slices.Concat(p.Linux, older.Linux), slices.Concat(p.MacOS, older.MacOS), slices.Concat(p.Windows, older.Windows)}
}

// of returns the files of a system. System is a value of GOOS.
func (p Paths) of(system string) []string {
	switch system {
	case "darwin":
		return p.MacOS
	case "windows":
		return p.Windows
	}
	return p.Linux
}

// variable matches ${NAME:-folder}.
var variable = regex.Lazy(`\$\{([A-Z_]+):-([^}]*)\}`)

// Files lists the files of a system, with slashes, newest first.
func (p Paths) Files(system, home string, getenv func(string) string) []string {
	var files []string
	for _, file := range p.of(system) {
		file = variable().ReplaceAllStringFunc(file, func(match string) string {
			parts := variable().FindStringSubmatch(match)
			return cmp.Or(getenv(parts[1]), parts[2])
		})
		if rest, ok := strings.CutPrefix(file, "~"); ok && home != "" {
			file = home + rest
		}
		files = append(files, file)
	}
	return files
}

// here lists the files on this machine.
func (p Paths) here() ([]string, error) {
	home, err := os.UserHomeDir()
	files := p.Files(runtime.GOOS, home, os.Getenv)
	for i, file := range files {
		if err != nil && strings.HasPrefix(file, "~") {
			return nil, fmt.Errorf("finding the home directory: %w", err)
		}
		files[i] = filepath.Clean(filepath.FromSlash(file))
	}
	return files, nil
}

// existing returns the first file that exists, or the first if no file exists.
func (p Paths) existing() (string, error) {
	files, err := p.here()
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
	}
	return files[0], nil
}

// Shown returns the files of a system in Markdown, in the system's own notation.
func (p Paths) Shown(system string) string {
	var list []string
	for _, file := range p.of(system) {
		file = strings.ReplaceAll(file, roamingData, "%APPDATA%")
		file = variable().ReplaceAllString(file, "$2")
		if system == "windows" {
			file = strings.ReplaceAll(strings.Replace(file, "~", "%USERPROFILE%", 1), "/", `\`)
		}
		list = append(list, "`"+file+"`")
	}
	return strings.Join(list, ", or ")
}
