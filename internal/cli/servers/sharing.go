package servers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/system/child"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/upstream"
	"github.com/toolfold/toolfold/upstream/pool"
)

// ThisBinary identifies this build, also among builds of one version.
func ThisBinary() string {
	path, err := child.Executable()
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(path); err == nil {
			return fmt.Sprintf("%s %d %d", env.Version(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return env.Version()
}

// IsShared reports whether serve uses a process of the server that sessions share.
func IsShared(u gateway.Upstream) bool { return pool.Supported && u.Server.URL == "" && !u.Isolated }

// Sharing returns a function that starts upstreams. It shares programs among all sessions of this user
// if the system and their settings allow that.
func Sharing(log *slog.Logger) connectFunc {
	return func(ctx context.Context, u gateway.Upstream, c upstream.Client) (gateway.Session, error) {
		if !IsShared(u) {
			return gateway.Connect(ctx, u, c)
		}
		p, err := thePool()
		if err == nil {
			var session *pool.Session
			if session, err = p.Connect(ctx, u.Server, c); err == nil {
				return session, nil
			}
			if !errors.Is(err, pool.ErrNoHost) {
				return nil, err
			}
		}
		log.Warn("upstreams are not shared with other sessions", "err", err)
		return gateway.Connect(ctx, u, c)
	}
}

// thePool returns the pool of shared processes.
func thePool() (p pool.Pool, err error) {
	dir, err := storage.DataDir()
	if err == nil {
		dir, err = pool.Dir(dir)
	}
	start := func(socket string) []string { return []string{"upstream", "share", socket} }
	return pool.Pool{Dir: dir, Version: ThisBinary(), Start: start}, err
}

// Unshared returns why a server of the settings has no process that sessions share, nil if it may have one.
func Unshared(o *settings.Options, name string) error {
	switch u := o.Upstreams[name]; {
	case u.URL != "":
		return fmt.Errorf("%s is reached at its url and has no process here: toolfold upstream check %s asks it again", name, name)
	case u.Isolate == "session":
		return fmt.Errorf("%s has a process for each session (isolate): end the session in your client and start another", name)
	case !pool.Supported:
		return fmt.Errorf("on this system each toolfold serve has its own process of %s: restart the client that uses it", name)
	}
	return nil
}

// Process describes where a server of the settings runs now. It starts nothing.
func Process(ctx context.Context, o *settings.Options, name string) (string, error) {
	switch u := o.Upstreams[name]; {
	case u.URL != "":
		if at, err := url.Parse(u.URL); err == nil && at.Host != "" {
			return "reached at " + at.Scheme + "://" + at.Host, nil // the path and the query may have secrets
		}
		return "reached at its url", nil
	case u.Isolate == "session":
		return "one process for each session", nil
	case !pool.Supported:
		return "one process for each toolfold serve", nil
	}
	p, err := thePool()
	if err != nil {
		return "", err
	}
	pids, err := p.PIDs(ctx, name)
	if err != nil {
		return "", err
	}
	if len(pids) == 0 {
		return "no process yet; the next call starts it", nil
	}
	return "process " + strings.Trim(strings.ReplaceAll(fmt.Sprint(pids), " ", ", "), "[]"), nil
}

// Restart ends the shared processes of a server, see [pool.Pool.Restart], and describes that.
func Restart(ctx context.Context, o *settings.Options, name string) (effect string, err error) {
	if err := Unshared(o, name); err != nil {
		return "", err
	}
	p, err := thePool()
	if err != nil {
		return "", fmt.Errorf("restarting %s: finding the process that shares servers: %w", name, err)
	}
	did, err := p.Restart(ctx, name, pool.RestartWait)
	switch {
	case errors.Is(err, pool.ErrOldHost):
		return "", fmt.Errorf("%s: %w: restart the clients that use toolfold", name, err)
	case err != nil:
		return "", fmt.Errorf("restarting %s: %w", name, err)
	case did.Processes == 0:
		return name + " is not running; the next call starts it", nil
	}
	return fmt.Sprintf("restarted %s: %s", name, restartText(did)), nil
}

// restartText describes the effect of a restart.
func restartText(did pool.RestartReport) string {
	parts := []string{english.Count(did.Sessions, "session uses it", "sessions use it")}
	if did.Sessions == 0 {
		parts[0] = "no session uses it"
	}
	if did.Processes > 1 {
		parts = append(parts, fmt.Sprintf("%d processes in different folders", did.Processes))
	}
	if did.Waited > 0 {
		parts = append(parts, english.Count(did.Waited, "call was waited for", "calls were waited for"))
	}
	if did.Cut > 0 {
		parts = append(parts, english.Count(did.Cut, "call did not end in time and has failed", "calls did not end in time and have failed"))
	}
	return strings.Join(parts, "; ")
}

// commonEnv lists the environment variables that every program gets; a * matches any ending. Other
// variables belong to a session or are secrets: a program that needs one must name it.
var commonEnv = strings.Fields(`HOME LOGNAME USER SHELL PATH LANG LANGUAGE LC_* TZ TMPDIR TMP TEMP TERM
	XDG_CONFIG_* XDG_DATA_* XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY XAUTHORITY DBUS_SESSION_BUS_ADDRESS
	HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy
	SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
	NVM_* VOLTA_HOME PNPM_HOME BUN_INSTALL DENO_DIR npm_config_* NPM_CONFIG_* UV_* PIP_* PYENV_ROOT VIRTUAL_ENV CONDA_* GOPATH GOROOT
	CARGO_HOME RUSTUP_HOME JAVA_HOME DOTNET_ROOT DOCKER_HOST DOCKER_CONFIG PLAYWRIGHT_BROWSERS_PATH LD_LIBRARY_PATH NIX_*
	SYSTEMROOT SystemRoot WINDIR windir COMSPEC ComSpec PATHEXT Path APPDATA LOCALAPPDATA USERPROFILE USERNAME USERDOMAIN HOMEDRIVE
	HOMEPATH PROGRAMDATA ProgramData ProgramFiles* PROGRAMFILES* CommonProgramFiles* PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS
	SystemDrive SYSTEMDRIVE`)

// ownEnv returns the variables of this process that match commonEnv.
var ownEnv = sync.OnceValue(func() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.ContainsFunc(commonEnv, func(pattern string) bool {
			ok, _ := filepath.Match(pattern, name)
			return ok
		})
	})
})
