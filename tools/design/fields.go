package design

import (
	"github.com/toolfold/toolfold/tools"
	"github.com/toolfold/toolfold/tools/design/api"
	"github.com/toolfold/toolfold/tools/design/architecture"
	"github.com/toolfold/toolfold/tools/design/component"
	"github.com/toolfold/toolfold/tools/design/schema"
)

// The parameters. Members of lists share their texts with them.
var (
	name        = tools.String{Name: "name", Doc: "Its name.", MaxLen: 200}
	description = tools.String{Name: "description", Doc: "Its purpose."}
	format      = tools.String{Name: "format", Doc: "What to write."}
	outputPath  = tools.String{Name: "outputPath", Doc: "File to write in the workspace."}
	overwrite   = tools.Bool{Name: "overwrite", Doc: "Replace any file there."}
	kind        = tools.String{Name: "type", Doc: "Its type."}
	baseURL     = tools.String{Name: "baseUrl", Doc: "Of the server.", Format: "uri"}
	version     = tools.String{Name: "version", Doc: "Of the API.", MaxLen: 50}
	language    = tools.String{Name: "language", Doc: "Of the code.", Enum: component.Languages()}
	pattern     = tools.String{Name: "pattern", Doc: "Of the system.", Enum: architecture.Patterns()}
	status      = tools.String{Name: "status", Doc: "Always draft.", Enum: []string{Draft, "review", "approved", "implemented", "deprecated"}}
	limit       = tools.Int{Name: "limit", Doc: "Most designs to return.", Min: 1, Max: 500}
	designID    = tools.UUID("designId", "The design.")
	offset      = tools.Int{Name: "offset", Doc: "nextOffset of the part before."}

	itemName     = name.With(tools.MinLen(1), tools.MaxLen(100))
	itemDoc      = description.With(tools.MaxLen(500))
	itemType     = kind.With(tools.MinLen(1), tools.MaxLen(100))
	itemRequired = tools.Bool{Name: "required", Doc: "Must be there."}
	words        = tools.String{MinLen: 1, MaxLen: 100}

	componentTypes = component.Types()

	dependencies = tools.List{Name: "dependencies", Doc: "Names of what it uses.", MaxItems: 30, Of: words}
	dependsOn    = tools.List{Name: "dependencies", Doc: "Ids of components.", Of: words}
	patterns     = tools.List{Name: "patterns", Doc: "To follow.", Of: words, MaxItems: 10}

	endpoints = tools.List{Name: "endpoints", Doc: "Operations.", MinItems: 1, MaxItems: 100, Of: tools.Object{
		Required: tools.Fields{
			tools.String{Name: "path", Doc: "Such as /users/{id}.", MinLen: 1, MaxLen: 500},
			tools.String{Name: "method", Doc: "Of HTTP.", Enum: api.Methods()},
			tools.String{Name: "summary", Doc: "What it does.", MaxLen: 200},
		},
		Optional: tools.Fields{
			description.With(tools.MaxLen(2000)),
			tools.List{Name: "parameters", Doc: "Besides the path's.", MaxItems: 30, Of: tools.Object{
				Required: tools.Fields{itemName},
				Optional: tools.Fields{
					tools.String{Name: "in", Doc: "query, path, header or cookie.", MaxLen: 10},
					tools.String{Name: "type", Doc: "string, integer, number, boolean or array.", MaxLen: 10}, itemDoc, itemRequired,
				},
			}}.With(tools.Added()),
			tools.Object{Name: "requestBody", Doc: "JSON Schema."}.With(tools.Added()),
			tools.Object{Name: "responseBody", Doc: "JSON Schema."}.With(tools.Added()),
			tools.List{Name: "tags", Doc: "Groups.", MaxItems: 10, Of: words}.With(tools.Added()),
		},
	}}

	inputs = tools.List{Name: "inputs", Doc: "It takes.", MaxItems: 50, Of: tools.Object{
		Required: tools.Fields{itemName, itemType}, Optional: tools.Fields{itemDoc, itemRequired.With(tools.Default(true))},
	}}
	outputs = tools.List{Name: "outputs", Doc: "It gives.", MaxItems: 20, Of: tools.Object{
		Required: tools.Fields{itemName, itemType}, Optional: tools.Fields{itemDoc},
	}}

	fields = tools.List{Name: "fields", Doc: "Of the record.", MinItems: 1, MaxItems: 100, Of: tools.Object{
		Required: tools.Fields{itemName, kind.With(tools.OneOf(schema.Types()...))},
		Optional: tools.Fields{
			itemDoc, itemRequired.With(tools.Default(false)),
			tools.Bool{Name: "nullable", Doc: "May be null."}.With(tools.Default(false)),
			tools.List{Name: "enumValues", Doc: "Of an enum.", Of: words},
			tools.String{Name: "refSchema", Doc: "Of a ref.", MaxLen: 100}.With(tools.Added()),
		},
	}}

	components = tools.List{Name: "components", Doc: "Parts of the system.", MinItems: 1, MaxItems: 50, Of: tools.Object{
		Required: tools.Fields{
			tools.String{Name: "id", Doc: "Used in dependencies.", MinLen: 1, MaxLen: 100}, itemName, kind.With(tools.OneOf(architecture.Types()...)),
		},
		Optional: tools.Fields{itemDoc, dependsOn},
	}}
)

// The results.
var ()
