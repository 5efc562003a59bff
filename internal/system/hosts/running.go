package hosts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Processes are the names of running programs.
type Processes []string

// Running lists the running programs of this user, or of all users on Windows. It is empty if the
// system does not show them.
func Running(ctx context.Context) Processes {
	if runtime.GOOS == "linux" {
		return readProc("/proc", os.Getuid())
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if runtime.GOOS == "windows" {
		list, _ := exec.CommandContext(ctx, "tasklist", "/fo", "csv", "/nh").Output() // without a list, no program is known
		return readTasks(list)
	}
	list, _ := exec.CommandContext(ctx, "ps", "-x", "-o", "args=").Output()
	return readLines(list)
}

// readProc reads the processes of a user in a folder such as /proc.
func readProc(folder string, user int) (list Processes) {
	files, _ := filepath.Glob(filepath.Join(folder, "[0-9]*", "cmdline"))
	for _, file := range files {
		line, err := os.ReadFile(file)
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if err == nil && bytes.Contains(status, fmt.Appendf(nil, "\nUid:\t%d\t", user)) { // otherwise it has ended or is another user's
			list = append(list, program(strings.Split(string(line), "\x00")))
		}
	}
	return list
}

// readLines parses a list of command lines. Programs whose path contains a space are not
// recognized.
func readLines(list []byte) (found Processes) {
	for line := range strings.Lines(string(list)) {
		found = append(found, program(strings.Fields(line)))
	}
	return found
}

// readTasks reads the table that tasklist prints.
func readTasks(list []byte) (found Processes) {
	rows, _ := csv.NewReader(bytes.NewReader(list)).ReadAll() // a table that cannot be read names no program
	for _, row := range rows {
		found = append(found, strings.TrimSuffix(row[0], ".exe"))
	}
	return found
}

// program returns the name of the program that a command line starts, or of the script if the
// program runs scripts.
func program(line []string) string {
	line = append(line, "", "")
	if name := filepath.Base(line[0]); !slices.Contains([]string{"node", "bun", "deno"}, name) || line[1] == "" {
		return name
	}
	return filepath.Base(line[1])
}

// Has reports whether the host runs. Names are case-sensitive: Claude is the desktop program, and
// claude is Claude Code.
func (list Processes) Has(h *Host) bool {
	return h.Path != nil && slices.Contains(list, cmp.Or(h.process, h.Program, h.Name))
}
