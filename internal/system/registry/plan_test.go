package registry

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// serverOf returns a server with one package or remote.
func serverOf(t *testing.T, members string) Server {
	t.Helper()
	s, err := read(json.RawMessage(`{"server":{"name":"io.a/b","description":"x","version":"1.0.0",` + members + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func packageOf(t *testing.T, members string) Way {
	t.Helper()
	return serverOf(t, `"packages":[{"transport":{"type":"stdio"},`+members+`}]`).Ways()[0]
}

func remoteOf(t *testing.T, members string) Way {
	t.Helper()
	return serverOf(t, `"remotes":[{"type":"streamable-http",`+members+`}]`).Ways()[0]
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ members, want string }{
		{`"registryType":"npm","identifier":"@a/b","version":"1.2.3","registryBaseUrl":"https://registry.npmjs.org"`, "npx -y @a/b@1.2.3"},
		{`"registryType":"npm","runtimeHint":"npx","identifier":"b","version":"1.2.3-rc.1",
			"runtimeArguments":[{"type":"positional","value":"-y"}]`,
			"npx -y b@1.2.3-rc.1"},
		{`"registryType":"pypi","identifier":"mcp-b","version":"2026.1"`, "uvx --from mcp-b==2026.1 mcp-b"},
		{`"registryType":"pypi","identifier":"b","version":"1!2.0","runtimeArguments":[{"type":"named","name":"--python","value":"3.12"}]`,
			"uvx --python=3.12 --from b==1!2.0 b"},
		{`"registryType":"nuget","identifier":"A.B","version":"0.1.0-beta","packageArguments":[{"type":"positional","value":"mcp"}]`,
			"dnx A.B@0.1.0-beta --yes -- mcp"},
		{`"registryType":"oci","registryBaseUrl":"https://docker.io","identifier":"a/b","version":"1.0",
			"environmentVariables":[{"name":"KEY"}]`,
			"docker run -i --rm -e KEY a/b:1.0"},
		{`"registryType":"oci","runtimeHint":"podman","identifier":"ghcr.io/a/b:1.0",
			"runtimeArguments":[{"type":"named","name":"-e","value":"A=b"}]`,
			"podman run -i --rm -e A=b ghcr.io/a/b:1.0"},
		{`"registryType":"oci","registryBaseUrl":"https://ghcr.io","identifier":"a/b@sha256:` + strings.Repeat("a", 64) + `"`,
			"docker run -i --rm ghcr.io/a/b@sha256:" + strings.Repeat("a", 64)},
		{`"registryType":"npm","identifier":"b","version":"1.0.0","packageArguments":[{"type":"named","name":"--port","default":"80"},
			{"type":"named","name":"-q","value":"1"},{"type":"named","name":"--debug"},{"type":"positional","valueHint":"dir"}]`,
			"npx -y b@1.0.0 --port=80 -q 1"},
	} {
		w := packageOf(t, c.members)
		if w.Problem != nil {
			t.Errorf("%s: %v", c.members, w.Problem)
			continue
		}
		s, err := w.Settings(nil)
		if got := strings.Join(s.Command, " "); err != nil || got != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
}

// A server that lies, hides something, cannot be pinned or wants more than it needs is rejected
// with the reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ members, want string }{
		{`"registryType":"npm","identifier":"-y evil","version":"1.0.0"`, "is no name of a package of npm"},
		{`"registryType":"npm","identifier":"--registry=https://evil.example","version":"1.0.0"`, "is no name of a package"},
		{`"registryType":"npm","identifier":"a;rm -rf","version":"1.0.0"`, "is no name of a package"},
		{`"registryType":"npm","identifier":"https://evil.example/x.tgz","version":"1.0.0"`, "is no name of a package"},
		{`"registryType":"pypi","identifier":"a @ git+https://x","version":"1.0"`, "is no name of a package"},
		{`"registryType":"npm","identifier":"a","version":"latest"`, "so it cannot be pinned"},
		{`"registryType":"npm","identifier":"a","version":"^1.0.0"`, "so it cannot be pinned"},
		{`"registryType":"npm","identifier":"a","version":"1.x"`, "so it cannot be pinned"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0 || 2"`, "so it cannot be pinned"},
		{`"registryType":"npm","identifier":"a"`, "so it cannot be pinned"},
		{`"registryType":"oci","identifier":"a/b"`, "has no version, so it cannot be pinned"},
		{`"registryType":"oci","identifier":"a/b:Latest"`, "has no version, so it cannot be pinned"},
		{`"registryType":"oci","identifier":"a/b:1","version":"2"`, "has the tag \"1\" and the version \"2\""},
		{`"registryType":"oci","identifier":"--privileged","version":"1"`, "is no name of an image"},
		{`"registryType":"oci","identifier":"a/b@sha256:12"`, "is no digest"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","registryBaseUrl":"https://evilnpmjs.org"`, "which npx does not ask"},
		{`"registryType":"mcpb","identifier":"https://example.com/a.mcpb","fileSha256":"00"`, "it is a bundle (mcpb)"},
		{`"registryType":"crates","identifier":"a","version":"1"`, "packages of \"crates\" are not known"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","fileSha256":"00"`, "to be checked by a SHA-256"},
		{`"registryType":"npm","runtimeHint":"sh","identifier":"a","version":"1.0.0"`, "to be started by \"sh\""},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","runtimeArguments":[{"type":"named","name":"--registry","value":"https://x"}]`,
			"its runner is to get \"--registry\""},
		{`"registryType":"pypi","identifier":"a","version":"1.0","runtimeArguments":[{"type":"positional","value":"--with=evil"}]`,
			"its runner is to get \"--with\""},
		{`"registryType":"oci","identifier":"a","version":"1","runtimeArguments":[{"type":"named","name":"--privileged"}]`, "\"--privileged\""},
		{`"registryType":"oci","identifier":"a","version":"1","runtimeArguments":[{"type":"named","name":"-v","value":"/:/host"}]`,
			"which the user does not choose"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","environmentVariables":[{"name":"A"},{"name":"A"}]`, "variable A twice"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","environmentVariables":[{"name":"NODE_OPTIONS","value":"-r x"}]`,
			"which can change the program that runs"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","environmentVariables":[{"name":"npm_config_registry"}]`,
			"which can change the program that runs"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","environmentVariables":[{"name":"A B"}]`,
			"is no name of an environment variable"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","environmentVariables":[{"name":"A","value":"${GITHUB_TOKEN}"}]`,
			"asks for a variable of yours"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","environmentVariables":[{"name":"A","default":"$GITHUB_TOKEN"}]`,
			"asks for a variable of yours"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","environmentVariables":[{"name":"A","value":"{x}{y}",
			"variables":{"x":{"default":"$"},"y":{"default":"{keyring:k}"}}}]`, "asks for a variable of yours"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","environmentVariables":[{"name":"A","default":"x\u202ey"}]`, "U+202E"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","packageArguments":[{"type":"named","name":"--a b"}]`, "its argument"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","packageArguments":[{"type":"positional","value":"a\u001bb"}]`, "argument1"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","packageArguments":[` +
			strings.TrimSuffix(strings.Repeat(`{"type":"positional","value":"x"},`, maxInputs+1), ",") + `]`, "it has 65 values"},
		{`"registryType":"npm","identifier":"a","version":"1.0.0","transport":{"type":"sse","url":"http://localhost:1"}`,
			"only stdio is supported"},
	} {
		if w := packageOf(t, c.members); w.Problem == nil || !strings.Contains(w.Problem.Error(), c.want) {
			t.Errorf("%s: %v", c.members, w.Problem)
		}
	}
	for _, c := range []struct{ members, want string }{
		{`"url":"http://example.com/mcp"`, "is not https"},
		{`"url":"file:///etc/passwd"`, "is not valid"},
		{`"url":"https://a:b@example.com/"`, "has a name and password"},
		{`"url":"https://example.com/${HOME}"`, "asks for a variable of yours"},
		{`"url":"{scheme}://example.com/","variables":{"scheme":{"default":"http"}}`, "is not https"},
		{`"url":"https://example.com/","headers":[{"name":"A"},{"name":"a"}]`, "header a twice"},
		{`"url":"https://example.com/","headers":[{"name":"Host","value":"x"}]`, "is no header that a server can have"},
		{`"url":"https://example.com/","headers":[{"name":"A\r\nB"}]`, "is no header"},
		{`"url":"https://example.com/","type":"websocket"`, "is not known"},
	} {
		if w := remoteOf(t, c.members); w.Problem == nil || !strings.Contains(w.Problem.Error(), c.want) {
			t.Errorf("%s: %v", c.members, w.Problem)
		}
	}
	for name, text := range map[string]string{
		"name":    `{"server":{"name":"-y evil","version":"1"}}`,
		"version": `{"server":{"name":"io.a/b","version":"1\u200b"}}`,
		"ways":    `{"server":{"name":"io.a/b","version":"1","remotes":[` + strings.TrimSuffix(strings.Repeat("{},", maxWays+1), ",") + `]}}`,
		"types":   `{"server":{"name":"io.a/b","version":1}}`,
	} {
		if _, err := read(json.RawMessage(text)); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	w := remoteOf(t, `"url":"https://{tenant}.example.com/mcp/{kept}","variables":{
		"tenant":{"isRequired":true,"description":"Your tenant"}},
		"headers":[{"name":"Authorization","isRequired":true,"isSecret":true,"value":"Bearer {token}",
		"variables":{"token":{"description":"From the page"}}},
		{"name":"X-Region","choices":["eu","us"],"default":"eu"},{"name":"X-Trace","format":"boolean"}]`)
	if w.Problem != nil {
		t.Fatal(w.Problem)
	}
	var list []string
	for _, q := range w.Questions() {
		list = append(list, string(q.Kind)+" "+q.Name)
		if q.Name == "token" && (!q.IsSecret || !q.Needed()) || q.Name == "X-Region" && q.Needed() {
			t.Errorf("question %+v", q)
		}
	}
	if diff := cmp.Diff([]string{"header token", "header X-Region", "header X-Trace", "arg tenant"}, list); diff != "" {
		t.Error(diff)
	}
	if _, err := w.Settings(nil); !refuses(err, "token is missing") || !refuses(err, "tenant is missing") {
		t.Errorf("without answers: %v", err)
	}
	answers := Answers{Arg: {"tenant": "acme"}, Header: {"token": "${keyring:b-token}"}}
	s, err := w.Settings(answers)
	want := Settings{Env: map[string]string{}, URL: "https://acme.example.com/mcp/{kept}",
		Headers: map[string]string{"Authorization": "Bearer ${keyring:b-token}", "X-Region": "eu"}}
	if diff := cmp.Diff(want, s); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for name, bad := range map[string]string{"X-Region": "mars", "X-Trace": "maybe", "token": "a\nb"} {
		if _, err := w.Settings(Answers{Arg: {"tenant": "acme"}, Header: {"token": "x", name: bad}}); err == nil {
			t.Errorf("%s may be %q", name, bad)
		}
	}
	if _, err := w.Settings(Answers{Arg: {"tenant": "evil.example/?"}, Header: {"token": "x"}}); err != nil {
		t.Errorf("what the user writes is the user's: %v", err)
	}
}
