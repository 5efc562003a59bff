package api

import (
	"bytes"
	"encoding/json"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/yamlx"
)

func writeJSON(document ordered.Map) string {
	var b bytes.Buffer
	// Encoded JSON can always be indented.
	_ = json.Indent(&b, ordered.MustJSON(document), "", "  ")
	b.WriteByte('\n')
	return b.String()
}

func writeYAML(document ordered.Map) string { return string(yamlx.Quoted(ordered.MustJSON(document))) }
