package imports

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/internal/code/scan"
)

// standard lists the modules of Python's standard library, 3.8 to 3.14. A workspace file with such
// a name is not the target of an import.
var standard = sync.OnceValue(func() []string {
	return strings.Fields(`__future__ abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 calendar cgi cmath cmd
	code codecs collections colorsys compression concurrent configparser contextlib contextvars copy copyreg csv ctypes curses dataclasses
	datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch
	fractions ftplib functools gc getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib imp importlib inspect io
	ipaddress itertools json keyword linecache locale logging lzma mailbox marshal math mimetypes mmap modulefinder multiprocessing netrc
	ntpath numbers opcode operator optparse os pathlib pdb pickle pickletools pkgutil platform plistlib poplib posix posixpath pprint profile
	pstats pty pwd py_compile pyclbr pydoc queue quopri random re readline reprlib resource runpy sched secrets select selectors shelve shlex
	shutil signal site smtplib socket socketserver sqlite3 ssl stat statistics string stringprep struct subprocess symtable sys sysconfig
	syslog tarfile tempfile termios textwrap threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle
	types typing unicodedata unittest urllib uuid venv warnings wave weakref webbrowser winreg wsgiref xml xmlrpc zipapp zipfile zipimport
	zlib zoneinfo`)
})

// indexPython records the folders that hold a Python package and are not packages themselves.
func (r *reader) indexPython() {
	r.tops = map[string][]string{}
	for name := range r.files {
		if path.Base(name) != "__init__.py" {
			continue
		}
		if folder := path.Dir(name); folder != "." && !r.isPackage(path.Dir(folder)) {
			r.tops[path.Base(folder)] = append(r.tops[path.Base(folder)], path.Dir(folder))
		}
	}
}

// isPackage reports whether a folder has an __init__.py.
func (r *reader) isPackage(folder string) bool {
	init := path.Join(folder, "__init__.py")
	return r.files[init] || !r.below(folder) && r.exists(init)
}

// followPython returns the module that an import names. The longest of its names is tried first.
func (r *reader) followPython(from string, i scan.Import) (to string, own bool) {
	if i.Names[0] == ".." || strings.HasPrefix(i.Names[0], "../") {
		return i.Names[0], true
	}
	if strings.HasPrefix(i.Names[0], "./") {
		for _, name := range slices.Backward(i.Names) {
			if to = r.pythonModule(path.Clean(name)); to != "" {
				return to, true
			}
		}
		return r.nearest(path.Clean(i.Names[0])), true
	}
	top, _, _ := strings.Cut(i.Names[0], "/")
	if slices.Contains(standard(), top) {
		return "", false
	}
	for folder := range r.pythonPath(from, top) {
		for _, name := range slices.Backward(i.Names) {
			if to = r.pythonModule(path.Join(folder, name)); to != "" {
				return to, true
			}
		}
		if r.isPackage(path.Join(folder, top)) { // a part of the package that was not read
			return r.nearest(path.Join(folder, i.Names[0])), true
		}
	}
	return "", false
}

// pythonPath yields the folders from which a file may import the package or module top: its parent
// folders that are not packages, and src in each of them. If only one folder has a package of that
// name, it yields that folder last.
func (r *reader) pythonPath(from, top string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for folder := range upwards(path.Dir(from)) {
			if !r.isPackage(folder) && (!yield(folder) || !yield(path.Join(folder, "src"))) {
				return
			}
		}
		if len(r.tops[top]) == 1 {
			yield(r.tops[top][0])
		}
	}
}

// pythonModule returns the file of a module, or the folder of a package without a file of its own,
// or "".
func (r *reader) pythonModule(name string) string {
	for _, file := range []string{name + ".py", name + "/__init__.py", name + ".pyi", name + "/__init__.pyi"} {
		if r.files[file] {
			return file
		}
	}
	if r.folders[name] {
		return name
	}
	return ""
}

// nearest returns the innermost folder with sources on the way to a path. It returns the path
// itself if that is outside of the graph's folder, and "" if no folder but the outermost matches.
func (r *reader) nearest(name string) string {
	if !r.below(name) {
		return name
	}
	for folder := path.Dir(name); r.below(folder) && folder != "."; folder = path.Dir(folder) {
		if r.folders[folder] {
			return folder
		}
	}
	return ""
}
