package callctx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A token in a context is not in anything that is printed, logged or marshalled.
func TestBearerIsHidden(t *testing.T) {
	b := With(t.Context(), NewBearer("secret", time.Now()))
	//lint:ignore SA9005 that nothing is written is what is tested
	text, err := json.Marshal(Of[Bearer](b))
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "token", Of[Bearer](b), "ctx", b)
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "token", Of[Bearer](b), "ctx", b)
	all := string(text) + log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		all += fmt.Sprintf(verb+verb, Of[Bearer](b), b)
	}
	if err != nil || strings.Contains(all, "secret") || strings.Contains(all, fmt.Sprintf("%x", "secret")) ||
		Of[Bearer](b).Reveal() != "secret" {
		t.Errorf("%s, %v", all, err)
	}
}
