package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// failure records why a server could not be started or could not list its tools at the last attempt.
// Its file exists until the server lists its tools, so that other processes know without starting it.
type failure struct {
	Source string `json:"source"` // see [record]
	Why    string `json:"why"`
}

// Files of failures end in failureSuffix and have at most maxFailure bytes.
const (
	failureSuffix = ".failed.json"
	maxFailure    = 64 << 10
)

// failureFile returns the name of the file with the server's last failure.
func (l *link) failureFile() string {
	return strings.TrimSuffix(l.file(), recordSuffix) + failureSuffix
}

// fail logs and stores why the server cannot be used. If the previous failure was the same, it is
// only logged, at debug level.
func (l *link) fail(doing string, err error) {
	l.mu.Lock()
	again := l.fault == err.Error()
	l.fault = err.Error()
	l.mu.Unlock()
	level, log := slog.LevelWarn, l.gateway.options.Log
	if again || l.gateway.options.Quiet {
		level = slog.LevelDebug
	}
	log.Log(context.Background(), level, doing, "upstream", l.Name, "err", err)
	if text := ordered.MustJSON(failure{l.source(), err.Error()}); !again && len(text) <= maxFailure {
		if err := l.saveAs(l.failureFile(), text); err != nil {
			log.Debug("keeping why an upstream failed", "upstream", l.Name, "err", err)
		}
	}
}

// works removes the record of the last failure.
func (l *link) works() {
	l.mu.Lock()
	l.fault = ""
	l.mu.Unlock()
	if dir := l.gateway.options.Dir; dir != "" {
		_ = os.Remove(filepath.Join(dir, l.failureFile())) // usually there is no file
	}
}

// lastFailure returns why the server failed when a process of this machine last used it. It is empty if
// the server worked or was not used.
func (l *link) lastFailure() string {
	l.mu.Lock()
	why := l.fault
	l.mu.Unlock()
	if why != "" || l.gateway.options.Dir == "" {
		return why
	}
	root, err := os.OpenRoot(l.gateway.options.Dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	text, err := safefile.Read(root, l.failureFile(), maxFailure)
	var f failure
	if err != nil || json.Unmarshal(text, &f) != nil || f.Source != l.source() {
		return ""
	}
	return f.Why
}

// Failures maps the names of unusable servers to the reasons: an error in the settings, or the last
// failure in any process of this machine. Tools that such a server listed before are offered all the
// same. Servers that are switched off are left out.
func (g *Gateway) Failures() map[string]string {
	all := map[string]string{}
	for _, l := range g.links {
		if l.isOff() {
			continue
		}
		if why := cmp.Or(l.Problem, l.lastFailure()); why != "" {
			all[l.Name] = why
		}
	}
	return all
}
