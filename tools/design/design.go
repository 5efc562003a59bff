// Package design declares the design tool: APIs, components, schemas and architectures, written
// from arguments as text in a format. No model is asked. Existing API documents are checked, and
// compared with older ones.
//
// A design is stored, and with an output path written to a file in the workspace too. Its id is
// computed from its text, so that the same arguments give the same design. Without overwrite, a
// file is replaced only if its text is a stored design.
//
// It is not a stable API: see docs/stability.md.
package design

import (
	_ "embed"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/design/architecture"
	"github.com/toolfold/toolfold/tools/design/schema"
)

//go:embed asks.txt
var asksText string

// Family declares the design tool.
var Family = toolfold.Family{
	Name: "design", Summary: "Specs and code skeletons", Category: "designs", Tier: toolfold.Extended,
	Words: "scaffold, boilerplate, blueprint, generate, specification, template, draft, document",
	Doc:   "outputPath writes the text to a file; one that toolfold did not write stays, unless overwrite is true.",
	Asks:  asksText,
	Actions: []*toolfold.Action{{
		Name:    "api",
		Legacy:  toolfold.Was("design_api"),
		Summary: "Write an OpenAPI 3.1 or AsyncAPI 3.0 document of endpoints.",
		Words:   "swagger, rest, http, routes, contract, interface description, event, message, channels, draft, web service, broker, topics",
		Doc: "JSON, or YAML if outputPath ends so. Bodies are JSON Schemas; $ref is #/components/schemas/NAME of schemas. In asyncapi " +
			"GET sends messages, other methods receive them.",
		Changed: "asyncapi is AsyncAPI, openapi is 3.1 instead of 3.0.3. " + writesFile + "Parameters, bodies and tags of endpoints " +
			"are used. " +
			"Without baseUrl there is no server. " + sameDesign,
		Required: toolfold.Fields{name, endpoints},
		Optional: toolfold.Fields{
			description.With(toolfold.MaxLen(2000)), baseURL, version.With(toolfold.Default("1.0.0")),
			format.With(toolfold.OneOf("openapi", "asyncapi"), toolfold.Default("openapi")), schemas.With(toolfold.Added()),
			security.With(toolfold.Added()), outputPath, overwrite.With(toolfold.Default(false), toolfold.Added()),
		},
		Effect: toolfold.Sets,
		Example: `{"name": "Orders", "endpoints": [{"path": "/orders/{id}", "method": "GET", "summary": "Get an order",` +
			` "responseBody": {"type": "object"}}]}`,
		Related: []string{"design.schema", "design.get"},
		Run:     toolfold.Method((*Service).API),
		Writes:  toolfold.Files((*Service).Writes),
	}, {
		Name:    "component",
		Legacy:  toolfold.Was("design_component"),
		Summary: "Write an interface and the skeleton of its implementation.",
		Words: "class, module, service, hook, source code, stub, scaffolding, typescript, python, go, rust, java, javascript, starting " +
			"point, widget",
		Doc: "Types: string, int, number, boolean, date, bytes, callback, any, User, list<T>, map<string, T>, T?. Other names become " +
			"placeholders. The patterns singleton, factory and decorator change the code, react and vue make a component in TypeScript or " +
			"JavaScript theirs, with outputs as events; other patterns are named in it.",
		Changed: "Every language but other is written, which is refused. type, dependencies and patterns shape the code. " +
			writesFile + "Adds language. " + sameDesign,
		Required: toolfold.Fields{
			name, kind.With(toolfold.OneOf(componentTypes...)), description.With(toolfold.MaxLen(2000)),
		},
		Optional: toolfold.Fields{
			inputs, outputs, dependencies, patterns, language.With(toolfold.Default("typescript")), outputPath,
			overwrite.With(toolfold.Default(false), toolfold.Added()),
		},
		Effect: toolfold.Sets,
		Example: `{"name": "OrderService", "type": "service", "description": "Places orders.", "inputs": [{"name": "id",` +
			` "type": "string"}], "language": "go"}`,
		Related: []string{"design.schema", "design.get"},
		Run:     toolfold.Method((*Service).Component),
		Writes:  toolfold.Files((*Service).Writes),
	}, {
		Name:    "schema",
		Legacy:  toolfold.Was("design_schema"),
		Summary: "Write records as SQL, Zod, JSON Schema, TypeScript, Prisma or Drizzle.",
		Words:   "data model, entity, table, type, validation, fields, database, orm, record, ddl, columns, postgres, sqlite, migration",
		Doc: "enum needs enumValues, ref needs refSchema (a name); array takes either, for its items. sql is PostgreSQL; columns are " +
			"snake_case. Tables get a missing id. zod is Zod 4. notes list what is left out; design.get lacks them.",
		Changed: "Every format is written. " + writesFile + "Fields are optional unless required is true. " +
			"Drizzle columns are snake_case; a field ID is the primary key. " +
			"Adds sql, sqlite, records, refSchema and details of fields. " + sameDesign,
		Required: toolfold.Fields{name, fields},
		Optional: toolfold.Fields{
			description.With(toolfold.MaxLen(2000)), format.With(toolfold.OneOf(schema.Formats()...),
				toolfold.Default("zod")),
			records.With(toolfold.Added()), outputPath, overwrite.With(toolfold.Default(false), toolfold.Added()),
		},
		Effect:  toolfold.Sets,
		Example: `{"name": "User", "fields": [{"name": "email", "type": "email", "required": true}], "format": "prisma"}`,
		Related: []string{"design.api", "design.get"},
		Run:     toolfold.Method((*Service).Schema),
		Writes:  toolfold.Files((*Service).Writes),
	}, {
		Name:    "architecture",
		Legacy:  toolfold.OldNames{{Name: "design_architecture", Required: toolfold.Fields{components}}},
		Summary: "Draw components, or a folder's imports, and breaks of the pattern.",
		Words: "diagram, mermaid, plantuml, c4, chart, graph, system overview, layers, map, document, depend, existing code, repository, " +
			"packages, cycle, violation",
		Doc: "c4 is C4-PlantUML, markdown the documentation. Arrows are held to hexagonal, clean, layered, ddd and " +
			"microservices by types. path reads Go, TypeScript, JavaScript and Python: folder names give types, or components with " +
			"folders as ids.",
		Changed: "plantuml and c4 are written. " + writesFile + "Components are grouped by type, and an unknown dependency is refused. " +
			"Adds format and path. " + sameDesign,
		Required: toolfold.Fields{name, description.With(toolfold.MaxLen(5000)), pattern},
		Optional: toolfold.Fields{
			components, existing.With(toolfold.Added()),
			format.With(toolfold.OneOf(architecture.Formats()...), toolfold.Default(architecture.Mermaid)), outputPath,
			overwrite.With(toolfold.Default(false), toolfold.Added()),
		},
		Either: toolfold.Fields{components, existing},
		Effect: toolfold.Sets,
		Example: `{"name": "Shop", "description": "Sells books.", "pattern": "layered", "components": [{"id": "web", "name": "Web",` +
			` "type": "presentation", "dependencies": ["db"]}, {"id": "db", "name": "DB", "type": "database"}]}`,
		Related: []string{"design.component", "design.get"},
		Run:     toolfold.Method((*Service).Architecture),
		Writes:  toolfold.Files((*Service).Writes),
	}, {
		Name:     "list",
		Legacy:   toolfold.Was("design_list"),
		Summary:  "List designs, newest first.",
		Words:    "which designs, history, past, drafted",
		Changed:  "Pages: hasMore, and nextCursor for the next one.",
		Optional: toolfold.Fields{designType, status, limit.With(toolfold.Default(50)), toolfold.Cursor.With(toolfold.Added())},
		Effect:   toolfold.Reads,
		Example:  `{"type": "schema", "limit": 5}`,
		Related:  []string{"design.get"},
		Run:      toolfold.Method((*Service).List),
	}, {
		Name:     "get",
		Summary:  "Read the text of a stored design.",
		Words:    "show, open, read back, content, retrieve, fetch, reprint, pull out",
		Required: toolfold.Fields{designID},
		Optional: toolfold.Fields{offset.With(toolfold.Min(0))},
		Effect:   toolfold.Reads,
		Example:  `{"designId": "` + exampleID + `"}`,
		Related:  []string{"design.list"},
		Run:      toolfold.Method((*Service).Get),
	}, {
		Name:    "check",
		Summary: "Lint an OpenAPI or AsyncAPI file; list its breaks of an older one.",
		Words: "validate, lint, verify, diff, compatible, backward compatibility, breaking change, regression, swagger, contract, " +
			"newer, version",
		Doc: "OpenAPI 3.0 and 3.1, AsyncAPI 2 and 3, JSON or YAML of at most 4 MB. against main: is the same path in that branch. " +
			"References to other files are counted, not followed.",
		Required: toolfold.Fields{existing},
		Optional: toolfold.Fields{against, offset.With(toolfold.Min(0))},
		Effect:   toolfold.Reads,
		Example:  `{"path": "docs/api.yaml", "against": "docs/api-v1.yaml"}`,
		Related:  []string{"design.api", "guard.check"},
		Run:      toolfold.Method((*Service).Check),
	}},
}

const (
	sameDesign = "The same arguments give the same designId."
	writesFile = "outputPath is written, and its text not repeated. "
)

// exampleID is the id of the design in the example of schema.
const exampleID = "45776123-3a0a-841e-b5f4-213dae0cf543"
