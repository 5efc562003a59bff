package main

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/serve"
)

// resources returns the resources of the suite.
func resources(context.Context) ([]serve.Resource, error) {
	return []serve.Resource{{
		URI: "test://static-text", Name: "Static text", Doc: "A text that never changes.", MIME: "text/plain",
		Read: func(context.Context, serve.Location) (content.Data, error) {
			return content.Data{MIME: "text/plain", Text: "This is the content of the static text resource."}, nil
		},
	}, {
		URI: "test://static-binary", Name: "Static image", Doc: "An image that never changes.", MIME: "image/png",
		Read: func(context.Context, serve.Location) (content.Data, error) {
			return content.Data{MIME: "image/png", Blob: png}, nil
		},
	}, {
		URI: "test://watched-resource", Name: "Watched text", Doc: "A text that clients can watch.", MIME: "text/plain",
		Read: func(context.Context, serve.Location) (content.Data, error) {
			return content.Data{MIME: "text/plain", Text: "This can be watched."}, nil
		},
	}, {
		URI: "test://template/{id}/data", Name: "Data by id", Doc: "Data of an id.", MIME: "application/json",
		Read: func(_ context.Context, at serve.Location) (content.Data, error) {
			id := at.Values["id"]
			text, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			return content.Data{MIME: "application/json", Text: string(text)}, err
		},
		Complete: map[string]serve.Completer{"id": cities},
	}}, nil
}

// skills returns a skill that is a folder.
func skills(context.Context) ([]serve.Skill, error) {
	return []serve.Skill{{
		Name: "git-workflow", Front: json.RawMessage(`{"name":"git-workflow","description":"Branch, commit and merge."}`),
		Files: []serve.SkillFile{
			{Path: "SKILL.md", Data: []byte("---\nname: git-workflow\ndescription: Branch, commit and merge.\n---\n\nRead references/names.md.\n")},
			{Path: "references/names.md", Data: []byte("Branches are named by topic.\n")},
		},
	}}, nil
}

// png is an image of one red pixel, wav a sound of eight samples.
var (
	png = decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	wav = decode("UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==")
)

func decode(text string) []byte {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err) // it is a constant
	}
	return raw
}
