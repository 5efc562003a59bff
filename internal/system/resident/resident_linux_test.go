package resident

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"testing"
	"unsafe"
)

// fileKB returns the resident memory of this process that files back, in kilobytes.
func fileKB(t *testing.T) (kilobytes int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"RssFile", "RssShmem"} { // shared memory is that of a file in memory
		_, after, _ := bytes.Cut(status, []byte("\n"+kind+":"))
		var n int
		if _, err := fmt.Sscan(string(after), &n); err != nil {
			t.Fatal(err)
		}
		kilobytes += n
	}
	return kilobytes
}

var sink byte

// A program whose file is resident has little of it left after DropFile, and continues to run.
func TestDropFile(t *testing.T) {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, m := range clean(text, path) {
		for page := m.start; page < m.end; page += 4096 {
			sink += *(*byte)(unsafe.Add(unsafe.Pointer(nil), page))
			read += 4
		}
	}
	before := fileKB(t)
	DropFile()
	after := fileKB(t)
	if read == 0 || before < read/2 || after > before*3/4 {
		t.Errorf("of %d kB that were read %d were resident, and then %d", read, before, after)
	}
}

// Modified pages are not dropped, because they would revert to the file.
func TestClean(t *testing.T) {
	text := `00400000-00c4c000 r-xp 00000000 fe:01 4589580                            /tmp/a b
Rss:                4100 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me sd 
00c4c000-013a0000 r--p 0084c000 fe:01 4589580                            /tmp/a b
Anonymous:             0 kB
013a0000-01400000 r--p 00fa0000 fe:01 4589580                            /tmp/a b
Anonymous:            12 kB
01400000-01500000 rw-p 01000000 fe:01 4589580                            /tmp/a b
Anonymous:             0 kB
c000000000-c000400000 r--p 00000000 00:00 0 
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 fe:01 99                         /lib/ld.so
Anonymous:             0 kB
`
	want := []mapping{{0x400000, 0xc4c000}, {0xc4c000, 0x13a0000}}
	if got := clean([]byte(text), "/tmp/a b"); !reflect.DeepEqual(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}
