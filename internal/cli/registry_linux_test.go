package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// forge is a server in a registry: a package and a remote.
const forge = `{"server":{"name":"io.github.acme/forge","title":"Forge","description":"Issues\u202e of a forge","version":"1.2.0",
	"packages":[{"registryType":"npm","identifier":"@acme/forge-mcp","version":"1.2.0","transport":{"type":"stdio"},
		"environmentVariables":[{"name":"FORGE_TOKEN","description":"Token with scope api","isRequired":true,"isSecret":true},
			{"name":"FORGE_URL","default":"https://forge.example"}],
		"packageArguments":[{"type":"positional","valueHint":"project","description":"Project to show","isRequired":true}]}],
	"remotes":[{"type":"streamable-http","url":"https://forge.example/mcp","headers":[{"name":"Authorization","isRequired":true,
		"value":"Bearer {token}","variables":{"token":{"description":"Of the page","isSecret":true}}}]}]},
	"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","isLatest":true}}}`

// A server is found, shown and added by its name in a registry. Other commands do not contact the
// registry.
func TestRegistry(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.EscapedPath() {
		case "/v0.1/servers":
			fmt.Fprintf(w, `{"servers":[%s],"metadata":{"count":1}}`, forge)
		case "/v0.1/servers/io.github.acme%2Fforge/versions/latest", "/v0.1/servers/io.github.acme%2Fforge/versions/1.2.0":
			fmt.Fprint(w, forge)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	m := newSandbox(t)
	m.write(t, filepath.Join(m.home, "bin", "npx"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(m.home, "bin", "npx"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, int) {
		cmd := m.command(t, args...)
		cmd.Env = append(cmd.Env, "TOOLFOLD_REGISTRY="+server.URL, "DBUS_SESSION_BUS_ADDRESS=unix:path="+m.home+"/nowhere",
			"PATH="+filepath.Join(m.home, "bin"))
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	expect := func(code int, want string, args ...string) {
		t.Helper()
		if out, got := run(args...); got != code || !strings.Contains(out, want) || strings.Contains(out, "abracadabra") {
			t.Errorf("%q: exit code %d\n%s\nwant %s", args, got, out, want)
		}
	}
	add := func(more ...string) []string {
		return append([]string{"upstream", "add", "--from-registry", "io.github.acme/forge"}, more...)
	}
	const token, project = "FORGE_TOKEN=${MY_TOKEN}", "project=acme/one"

	expect(0, "io.github.acme/forge  1.2.0    npm remote  Issues of a forge\nas "+server.URL+" has it",
		"upstream", "search", "forge", "issues")
	expect(0, server.URL+" has no such server", "upstream", "search", "zebra")
	expect(2, "search takes at least one word", "upstream", "search")
	expect(2, "required values are missing: --env FORGE_TOKEN, --arg project", add()...)
	expect(2, "--env FORGE_TOKEN (required; secret): Token with scope api", add()...)
	expect(2, "runs     npx -y @acme/forge-mcp@1.2.0 acme/one\nwith     FORGE_TOKEN: ${MY_TOKEN}\nwith     FORGE_URL: https://forge.example\n"+
		"toolfold: nothing is added, since there is no terminal to ask: --yes adds the server as shown",
		add("--env", token, "--arg", project)...)
	expect(2, "the server takes no --env OTHER: it takes FORGE_TOKEN, FORGE_URL", add("--env", token, "--arg", project, "--env", "OTHER=x")...)
	expect(1, "no keyring here (the D-Bus session does not answer: ", add("--env", "FORGE_TOKEN=abracadabra", "--arg", project, "--yes")...)
	expect(1, "has no io.github.acme/none: toolfold upstream search finds servers",
		"upstream", "add", "--from-registry", "io.github.acme/none")
	expect(2, "takes a name such as io.github.owner/server", "upstream", "add", "--from-registry", "-y evil")
	expect(0, "added forge to ", add("--env", token, "--arg", project, "--yes", "--no-check")...)
	expect(2, "there is an upstream forge", add("--yes")...)
	expect(0, "reaches  https://forge.example/mcp\nwith     Authorization: Bearer ${MY_TOKEN}\nadded web to ",
		"upstream", "add", "web", "--from-registry", "io.github.acme/forge@1.2.0", "--package", "remote",
		"--header", "token: ${MY_TOKEN}", "--yes", "--no-check")

	before := requests.Load()
	expect(0, "forge     npx -y @acme/forge-mcp@1.2.0 acme/one", "upstream", "list")
	for _, args := range [][]string{{"doctor", "--upstreams"}, {"upstream", "check"}, {"status"}, {"tools"}, {"secret", "list"},
		{"upstream", "import"}, {"upstream", "remove", "web"}} {
		run(args...)
	}
	if requests.Load() != before {
		t.Error("another command asks the registry")
	}
	text, err := os.ReadFile(filepath.Join(m.home, "config", "toolfold", "config.json"))
	var settings struct {
		Upstreams map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		}
	}
	if err != nil || json.Unmarshal(text, &settings) != nil || len(settings.Upstreams) != 1 || settings.Upstreams["forge"].Command != "npx" {
		t.Errorf("the settings are %v: %s", err, text)
	}
	server.Close()
	expect(1, "are you offline? toolfold upstream add NAME -- PROGRAM needs no registry", "upstream", "search", "forge")
}
