package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// session starts a D-Bus session with gnome-keyring and returns its address. It ends with the test, or
// by calling end.
func session(t *testing.T, m sandbox, keyring string) (address string, end func()) {
	t.Helper()
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: apt-get install gnome-keyring dbus-x11", program)
		}
	}
	cmd := exec.Command("dbus-run-session", "--", "sh", "-c",
		"printf pw | gnome-keyring-daemon "+keyring+" --components=secrets >/dev/null && echo $DBUS_SESSION_BUS_ADDRESS && cat")
	cmd.Env = m.command(t).Env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = in.Close()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(end)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("gnome-keyring does not start: %v", err)
	}
	return strings.TrimSpace(line), end
}

// Secrets are only in the desktop's keyring: they are set, reach the server, are moved there by import,
// and restored by its undo. A locked keyring is an error, not a hang.
func TestGnomeKeyring(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	address, end := session(t, m, "--unlock")
	run := func(stdin string, args ...string) (string, error) {
		cmd := m.command(t, args...)
		cmd.Env = append(cmd.Env, "DBUS_SESSION_BUS_ADDRESS="+address)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "abracadabra") {
			t.Errorf("%q prints the secret: %s", args, out)
		}
		return string(out), err
	}
	expect := func(want, stdin string, args ...string) {
		t.Helper()
		if out, err := run(stdin, args...); err != nil || !strings.Contains(out, want) {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	fake := filepath.Join(m.home, "fake.sh")
	m.write(t, fake, `while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case "$line" in
	*'"initialize"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},`+
		`\"serverInfo\":{\"name\":\"f\",\"version\":\"1\"}}}" ;;
	*tools/list*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{`+
		`\"tools\":[{\"name\":\"has_${#API_TOKEN}\",\"inputSchema\":{\"type\":\"object\"}}]}}" ;;
	*'"id"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no\"}}" ;;
	esac
done
`)
	expect("stored mine in the keyring", "abracadabra-1\n", "secret", "set", "mine")
	expect("added mine", "", "upstream", "add", "mine", "--env", "API_TOKEN=${keyring:mine}", "--", "sh", fake)
	expect("", "", "upstream", "check", "mine")
	expect("has_13", "", "upstream", "fold", "mine")
	expect("removed mine", "", "secret", "remove", "mine")
	const missing = "the keyring has no secret mine: set it with toolfold secret set mine"
	if out, err := run("", "upstream", "check", "mine"); err == nil || !strings.Contains(out, missing) {
		t.Errorf("a secret that is gone: %v\n%s", err, out)
	}

	client := filepath.Join(m.home, "client.json")
	text := fmt.Sprintf(`{"mcpServers":{"theirs":{"command":"sh","args":[%q],"env":{"API_TOKEN":"abracadabra","MODE":"x"}}}}`, fake)
	m.write(t, client, text)
	expect("stored   theirs-API_TOKEN in the keyring", "", "upstream", "import", "--anyway", "--write", "--keyring", client)
	global := filepath.Join(m.home, "config", "toolfold", "config.json")
	for _, path := range []string{global, client} {
		if found, err := os.ReadFile(path); err != nil || strings.Contains(string(found), "abracadabra") {
			t.Errorf("%s has the secret (%v):\n%s", path, err, found)
		}
	}
	expect("", "", "upstream", "check", "theirs")
	expect("removed  theirs", "", "upstream", "import", "--undo")
	if back, err := os.ReadFile(client); err != nil || string(back) != text {
		t.Errorf("the client's file is not as it was: %v\n%s", err, back)
	}
	if out, err := run("", "secret", "remove", "theirs-API_TOKEN"); err == nil {
		t.Errorf("undo leaves the secret: %s", out)
	}

	// An import that writes nothing leaves no secret in the keyring. In the first case the client's
	// file cannot be written, because the name of its temporary file is too long. In the second the
	// record cannot be written.
	long := filepath.Join(m.home, strings.Repeat("x", 220)+".json")
	m.write(t, long, text)
	record := filepath.Join(m.home, "config", "toolfold", "import.json")
	for _, stop := range []struct {
		file, why string
		prepare   func() error
	}{
		{long, "file name too long", func() error { return nil }},
		{client, "import.json", func() error { return os.MkdirAll(filepath.Join(record, "in the way"), 0o700) }},
	} {
		if err := stop.prepare(); err != nil {
			t.Fatal(err)
		}
		out, err := run("", "upstream", "import", "--anyway", "--write", "--keyring", stop.file)
		if err == nil || !strings.Contains(out, stop.why) || !strings.Contains(out, "removed  theirs-API_TOKEN from the keyring") {
			t.Errorf("an import that writes nothing: %v\n%s", err, out)
		}
		if out, err := run("", "secret", "remove", "theirs-API_TOKEN"); err == nil {
			t.Errorf("an import that writes nothing leaves the secret: %s", out)
		}
	}
	if err := os.RemoveAll(record); err != nil {
		t.Fatal(err)
	}

	expect("stored mine", "abracadabra", "secret", "set", "mine")
	end()
	address, _ = session(t, m, "--start")
	if out, err := run("", "upstream", "check", "mine"); err == nil || !strings.Contains(out, "may be locked: unlock it and try again") {
		t.Errorf("a locked keyring: %v\n%s", err, out)
	}
}
