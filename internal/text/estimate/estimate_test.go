package estimate

import (
	"bytes"
	"testing"

	"github.com/toolfold/toolfold/internal/text/tokens"
)

var estimateTexts = map[string]string{
	"json": `{"action":"store","key":"team/rules","value":{"freeze":"Friday","owners":["ann","bob"]},"limit":100}`,
	"list": `{"traces":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","label":"memory.store","status":"success",` +
		`"startedAt":"2026-01-31T12:00:00Z","durationMs":1.25}],"total":1}`,
	"prose": "The deployment is frozen on Fridays, because nobody wants to be called on the weekend when something goes wrong.",
	"code": "func (s *Service) Create(ctx context.Context, in CreateIn) (Shown, error) {\n\tif strings.TrimSpace(in.Name) == \"\" " +
		"{\n\t\treturn Shown{}, errEmpty\n\t}\n}",
	"accented": "Über die Löschung früherer Einträge entscheidet die Größe der Spuren, nicht ihr Alter.",
	"numbers":  `[1,22,333,4444,55555,666666,7777777,0.5,12.25,1e9]`,
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for name, text := range estimateTexts {
		want, err := tokens.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		got := Tokens([]byte(text))
		t.Logf("%s: %d, estimated %d", name, want, got)
		if ratio := float64(got) / float64(want); ratio < 0.7 || ratio > 1.3 {
			t.Errorf("%s has %d tokens, %d were estimated", name, want, got)
		}
	}
	if Tokens(nil) != 0 {
		t.Error("nothing has tokens")
	}
	one := Tokens([]byte(estimateTexts["json"]))
	if got := Tokens(bytes.Repeat([]byte(estimateTexts["json"]), 10_000)); got < one*9_000 || got > one*11_000 {
		t.Errorf("10,000 times %d tokens are estimated as %d", one, got)
	}
}

func BenchmarkTokens(b *testing.B) {
	text := bytes.Repeat([]byte(estimateTexts["json"]), 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Tokens(text)
	}
}
