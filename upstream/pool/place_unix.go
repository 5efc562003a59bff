//go:build unix

package pool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Supported reports whether servers can be shared on this system.
const Supported = true

// Dir returns the folder for the socket that belongs to data, a folder of the user. It creates the
// folder with permissions for the user alone, and rejects one with other permissions or of another
// owner. Its path is short, because socket paths are limited.
func Dir(data string) (string, error) {
	base := os.Getenv("XDG_RUNTIME_DIR")
	if base == "" {
		base = filepath.Join(os.TempDir(), "toolfold-"+strconv.Itoa(os.Getuid()))
	}
	sum := sha256.Sum256([]byte(data))
	dir := filepath.Join(base, "toolfold-"+hex.EncodeToString(sum[:6]))
	for _, folder := range []string{base, dir} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return "", err
		}
		info, err := os.Lstat(folder)
		if err != nil {
			return "", err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ok || int(stat.Uid) != os.Getuid() {
			return "", fmt.Errorf("%s is not a folder of this user alone", folder)
		}
	}
	return dir, nil
}

// apart starts the host in its own session, so that it gets no signals of the terminal.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
