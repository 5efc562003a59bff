// Package resident returns memory to the system that a waiting process does not need.
package resident

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// DropFile drops the pages of the program's file from this process, because most are only used at
// the start. They stay in the system's cache, and return at their next use. Modified pages stay.
func DropFile() {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range clean(text, path) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED)
	}
}

// Own returns the resident bytes of this process that are not shared with files, or zero if
// unknown.
func Own() int {
	text, err := os.ReadFile("/proc/self/statm") // size resident shared …, in pages
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 3 {
		return 0
	}
	all, err := strconv.Atoi(string(fields[1]))
	shared, wrong := strconv.Atoi(string(fields[2]))
	if err != nil || wrong != nil {
		return 0
	}
	return (all - shared) * os.Getpagesize()
}

// mapping is a part of the address space.
type mapping struct{ start, end uintptr }

// clean returns the mappings of a file that are read-only and have no modified pages. text is the
// content of smaps. A loader writes to some mappings before it protects them.
func clean(text []byte, path string) (list []mapping) {
	var of mapping // current mapping if it is of the file and read-only; else zero
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		fields := bytes.Fields(line)
		switch {
		case len(fields) >= 5 && bytes.ContainsRune(fields[0], '-'): // 00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/dbus-daemon
			of = mapping{}
			start, end, _ := bytes.Cut(fields[0], []byte("-"))
			from, err := strconv.ParseUint(string(start), 16, strconv.IntSize)
			to, wrong := strconv.ParseUint(string(end), 16, strconv.IntSize)
			if err == nil && wrong == nil && !bytes.ContainsRune(fields[1], 'w') && bytes.HasSuffix(line, []byte(" "+path)) {
				of = mapping{uintptr(from), uintptr(to)}
			}
		case len(fields) == 3 && string(fields[0]) == "Anonymous:" && string(fields[1]) == "0" && of.end > 0:
			list = append(list, of)
		}
	}
	return list
}
