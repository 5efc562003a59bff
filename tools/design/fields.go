package design

import (
	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/tools/design/api"
	"github.com/toolfold/toolfold/tools/design/architecture"
	"github.com/toolfold/toolfold/tools/design/component"
	"github.com/toolfold/toolfold/tools/design/schema"
)

// The parameters. Members of lists share their texts with them.
var (
	name        = toolfold.String{Name: "name", Doc: "Its name.", MaxLen: 200}
	description = toolfold.String{Name: "description", Doc: "Its purpose."}
	format      = toolfold.String{Name: "format", Doc: "Output format."}
	outputPath  = toolfold.String{Name: "outputPath", Doc: "File to write in the workspace."}
	overwrite   = toolfold.Bool{Name: "overwrite", Doc: "Replace any file there."}
	kind        = toolfold.String{Name: "type", Doc: "Its type."}
	baseURL     = toolfold.String{Name: "baseUrl", Doc: "Server URL.", Format: "uri"}
	version     = toolfold.String{Name: "version", Doc: "API version.", MaxLen: 50}
	language    = toolfold.String{Name: "language", Doc: "Code language.", Enum: component.Languages()}
	pattern     = toolfold.String{Name: "pattern", Doc: "System pattern.", Enum: architecture.Patterns()}
	designType  = toolfold.String{Name: "type", Doc: "Its type.", Enum: designTypes,
		OldEnum: []string{"api", "component", "schema", "architecture", "flow", "data-model", "interface", "other"}}
	status = toolfold.String{Name: "status", Doc: "Always draft.", Enum: []string{Draft},
		OldEnum: []string{Draft, "review", "approved", "implemented", "deprecated"}}
	limit    = toolfold.Int{Name: "limit", Doc: "Most designs to return.", Min: 1, Max: 500}
	designID = toolfold.UUID("designId", "The design.")
	offset   = toolfold.Int{Name: "offset", Doc: "nextOffset of the part before."}

	existing = toolfold.String{Name: "path", Doc: "OpenAPI or AsyncAPI file; folder of code.", MinLen: 1, MaxLen: workspace.MaxPath}
	against  = toolfold.String{Name: "against", Doc: "Older one: a file, or ref:file of git.", Unclear: true, MinLen: 1,
		MaxLen: workspace.MaxPath, Also: []string{"base"}}

	itemName     = name.With(toolfold.MinLen(1), toolfold.MaxLen(100))
	itemDoc      = description.With(toolfold.MaxLen(500))
	itemType     = kind.With(toolfold.MinLen(1), toolfold.MaxLen(100))
	itemRequired = toolfold.Bool{Name: "required", Doc: "Must be there."}
	words        = toolfold.String{MinLen: 1, MaxLen: 100}

	componentTypes = component.Types()

	dependencies = toolfold.List{Name: "dependencies", Doc: "Names it depends on.", MaxItems: 30, Of: words}
	dependsOn    = toolfold.List{Name: "dependencies", Doc: "Ids of components.", Of: words}
	patterns     = toolfold.List{Name: "patterns", Doc: "To follow.", Of: words, MaxItems: 10}

	endpoints = toolfold.List{Name: "endpoints", Doc: "Operations.", MinItems: 1, MaxItems: 100, Of: toolfold.Object{
		Required: toolfold.Fields{
			toolfold.String{Name: "path", Doc: "Such as /users/{id}.", MinLen: 1, MaxLen: 500},
			toolfold.String{Name: "method", Doc: "HTTP method.", Enum: api.Methods()},
			toolfold.String{Name: "summary", Doc: "Short summary.", MaxLen: 200},
		},
		Optional: toolfold.Fields{
			description.With(toolfold.MaxLen(2000)),
			toolfold.List{Name: "parameters", Doc: "Except the path's.", MaxItems: 30, Of: toolfold.Object{
				Required: toolfold.Fields{itemName},
				Optional: toolfold.Fields{
					toolfold.String{Name: "in", Doc: "query, path, header or cookie.", MaxLen: 10},
					toolfold.String{Name: "type", Doc: "string, integer, number, boolean or array.", MaxLen: 10}, itemDoc, itemRequired,
				},
			}}.With(toolfold.Added()),
			toolfold.Object{Name: "requestBody", Doc: "JSON Schema."}.With(toolfold.Added()),
			toolfold.Object{Name: "responseBody", Doc: "JSON Schema."}.With(toolfold.Added()),
			toolfold.Object{Name: "responses", Doc: "JSON Schema by status; {} for no body."}.With(toolfold.Added()),
			toolfold.Bool{Name: "public", Doc: "Needs no security."}.With(toolfold.Added()),
			toolfold.List{Name: "tags", Doc: "Groups.", MaxItems: 10, Of: words}.With(toolfold.Added()),
		},
	}}

	schemas  = toolfold.Object{Name: "schemas", Doc: "JSON Schemas by name, for $ref."}
	security = toolfold.List{Name: "security", Doc: "Any of them lets in.", Of: toolfold.String{Enum: api.Securities()}, MaxItems: 3}

	inputs = toolfold.List{Name: "inputs", Doc: "It takes.", MaxItems: 50, Of: toolfold.Object{
		Required: toolfold.Fields{itemName, itemType}, Optional: toolfold.Fields{itemDoc, itemRequired.With(toolfold.Default(true))},
	}}
	outputs = toolfold.List{Name: "outputs", Doc: "It gives.", MaxItems: 20, Of: toolfold.Object{
		Required: toolfold.Fields{itemName, itemType}, Optional: toolfold.Fields{itemDoc},
	}}

	fields = toolfold.List{Name: "fields", Doc: "Record fields.", MinItems: 1, MaxItems: 100, Of: toolfold.Object{
		Required: toolfold.Fields{itemName, kind.With(toolfold.OneOf(schema.Types()...))},
		Optional: toolfold.Fields{
			itemDoc, itemRequired.With(toolfold.Default(false)),
			toolfold.Bool{Name: "nullable", Doc: "May be null."}.With(toolfold.Default(false)),
			toolfold.List{Name: "enumValues", Doc: "Enum values.", Of: words},
			toolfold.String{Name: "refSchema", Doc: "Target of a ref.", MaxLen: 100}.With(toolfold.Added()),
			toolfold.Any{Name: "default", Doc: "Value if absent; now for dates."}.With(toolfold.Added()),
			toolfold.Number{Name: "min", Doc: "Least value, length or items."}.With(toolfold.Added()),
			toolfold.Number{Name: "max", Doc: "Greatest value, length or items."}.With(toolfold.Added()),
			toolfold.String{Name: "pattern", Doc: "Regular expression of a string.", MaxLen: 200}.With(toolfold.Added()),
			toolfold.Bool{Name: "unique", Doc: "No two alike."}.With(toolfold.Added()),
			toolfold.Bool{Name: "index", Doc: "Looked up by it."}.With(toolfold.Added()),
			toolfold.String{Name: "onDelete", Doc: "Of a ref.", Enum: schema.Actions()}.With(toolfold.Added()),
		},
	}}

	record  = toolfold.Object{Required: toolfold.Fields{itemName, fields}, Optional: toolfold.Fields{description.With(toolfold.MaxLen(2000))}}
	records = toolfold.List{Name: "records", Doc: "More tables of SQL: name, fields, description.", MaxItems: 50, Of: toolfold.Object{}}

	components = toolfold.List{Name: "components", Doc: "Parts of the system.", MinItems: 1, MaxItems: 50, Of: toolfold.Object{
		Required: toolfold.Fields{
			toolfold.String{Name: "id", Doc: "Used in dependencies.", MinLen: 1, MaxLen: 100}, itemName,
			kind.With(toolfold.OneOf(architecture.Types()...)),
		},
		Optional: toolfold.Fields{itemDoc, dependsOn},
	}}
)
