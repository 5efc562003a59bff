package servers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/system/child"
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

// Restart ends the shared processes of a server, see [pool.Pool.Restart].
func Restart(ctx context.Context, name string) (pool.RestartReport, error) {
	p, err := thePool()
	if err != nil {
		return pool.RestartReport{}, fmt.Errorf("finding the process that shares servers: %w", err)
	}
	return p.Restart(ctx, name, pool.RestartWait)
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
