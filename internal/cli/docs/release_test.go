package docs_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/internal/call/validate"
)

// serverSchema has the requirements of the registry's schema of 2025-12-11 for the members that we use.
// New members must be added here first.
const serverSchema = `{
	"type": "object", "additionalProperties": false, "required": ["name", "description", "version"],
	"properties": {
		"$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
		"name": {"type": "string", "minLength": 3, "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
		"title": {"type": "string", "minLength": 1, "maxLength": 100},
		"description": {"type": "string", "minLength": 1, "maxLength": 100},
		"version": {"type": "string", "maxLength": 255, "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+$"},
		"repository": {
			"type": "object", "additionalProperties": false, "required": ["url", "source"],
			"properties": {"url": {"type": "string", "pattern": "^https://"}, "source": {"const": "github"}}
		}
	}
}`

func TestServerJSON(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../server.json")
	if err != nil {
		t.Fatal(err)
	}
	tool, err := validate.Compile("server.json", json.RawMessage(serverSchema))
	if err != nil {
		t.Fatal(err)
	}
	var server map[string]any
	if err := yaml.Unmarshal(text, &server); err != nil {
		t.Fatal(err)
	}
	if problems := tool.Problems(server); len(problems) > 0 {
		t.Errorf("%+v", problems)
	}
}

// The image is built with the Go version in go.mod.
func TestImage(t *testing.T) {
	t.Parallel()
	docker, err := os.ReadFile("../../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))[1]
	if !strings.Contains(string(docker), "FROM golang:"+version+" ") {
		t.Errorf("the image is not built with Go %s", version)
	}
}
