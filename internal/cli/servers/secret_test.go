package servers

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"
)

// Keys are references to secrets. An error names the key and what to do, and quotes no secret.
func TestLoginKeys(t *testing.T) {
	keyring.MockInit()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	const secret = "a-secret-of-thirty-two-bytes-now"
	t.Setenv("KEY", base64.StdEncoding.EncodeToString([]byte(secret)))
	t.Setenv("SHORT", base64.StdEncoding.EncodeToString([]byte(secret[:16])))
	t.Setenv("EMPTY", "")
	if err := keyring.Set("toolfold", "older", base64.StdEncoding.EncodeToString([]byte(strings.ToUpper(secret)))); err != nil {
		t.Fatal(err)
	}
	keys, err := LoginKeys(t.Context(), []string{"${KEY}", "${keyring:older}"})
	if err != nil {
		t.Fatal(err)
	}
	older, err := LoginKeys(t.Context(), []string{"${keyring:older}"})
	if err != nil {
		t.Fatal(err)
	}
	id, sealed := older.Seal([]byte("login"), "x")
	if text, err := keys.Open(id, sealed, "x"); err != nil || string(text) != "login" || keys.Active() == id {
		t.Errorf("%q, %v", text, err)
	}
	for want, references := range map[string][]string{
		"loginKeys is not set: make a key with openssl rand -base64 32": nil,
		"loginKeys: key 1: it has to be a reference":                    {secret},
		"loginKeys: key 2: it has to be a reference":                    {"${KEY}", "x${KEY}"},
		"loginKeys: key 1 has 16 bytes, not 32":                         {"${SHORT}"},
		"loginKeys: key 1: ${EMPTY} is empty":                           {"${EMPTY}"},
		"loginKeys: key 1: the environment variable MISSING is not set": {"${MISSING}"},
		"loginKeys: key 1: the keyring has no secret other":             {"${keyring:other}"},
		"loginKeys: key 2 is there twice":                               {"${KEY}", "$KEY"},
	} {
		_, err := LoginKeys(t.Context(), references)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}
