package design

import (
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/design/api"
	"github.com/toolfold/toolfold/tools/design/architecture"
	"github.com/toolfold/toolfold/tools/design/component"
	"github.com/toolfold/toolfold/tools/design/schema"
)

// Output names a file for the design, in addition to the store. An empty OutputPath means no file.
type Output struct {
	OutputPath string `json:"outputPath"`
	Overwrite  bool   `json:"overwrite"`
}

// File is a written file.
type File struct {
	Path  string `json:"path" doc:"Below the workspace."`
	Bytes int    `json:"bytes" doc:"Its size."`
}

// APIIn are the arguments of design.api.
type APIIn struct {
	api.Model
	Format string `json:"format"`
	Output
}

// TextOut is the result of design.api, and most of that of design.schema.
type TextOut struct {
	DesignID  string    `json:"designId" doc:"The design." format:"uuid"`
	Name      string    `json:"name" doc:"Its name."`
	Format    string    `json:"format" doc:"Output format."`
	Content   string    `json:"content,omitempty" doc:"The text; absent if written to file."`
	CreatedAt time.Time `json:"createdAt" doc:"When it was first made."`
	Truncated bool      `json:"truncated,omitempty" doc:"True if texts are cut; design.get has the rest."`
	File      *File     `json:"file,omitempty" doc:"The written file, in place of texts, which design.get has; absent without outputPath."`
}

// ComponentIn are the arguments of design.component.
type ComponentIn struct {
	component.Model
	Language string `json:"language"`
	Output
}

// ComponentOut is the result of design.component.
type ComponentOut struct {
	DesignID       string    `json:"designId" doc:"The design." format:"uuid"`
	Name           string    `json:"name" doc:"Its name."`
	Type           string    `json:"type" doc:"Its type." enum:"function,class,module,service,controller,repository,factory,adapter,hook,component,other"`
	Language       string    `json:"language" doc:"Code language." enum:"typescript,javascript,python,go,rust,java,other"`
	Interface      string    `json:"interface,omitempty" doc:"First part of the file; absent if written."`
	Implementation string    `json:"implementation,omitempty" doc:"Second part of it; absent if written."`
	CreatedAt      time.Time `json:"createdAt" doc:"When it was first made."`
	Truncated      bool      `json:"truncated,omitempty" doc:"True if texts are cut; design.get has the rest."`
	File           *File     `json:"file,omitempty" doc:"The written file, in place of texts, which design.get has; absent without outputPath."`
}

// SchemaIn are the arguments of design.schema.
type SchemaIn struct {
	schema.Model
	Format  string            `json:"format"`
	Records []json.RawMessage `json:"records"`
	Output
}

// SchemaOut is the result of design.schema.
type SchemaOut struct {
	TextOut
	Notes []string `json:"notes,omitempty" doc:"What is left out, by reason; not kept for design.get."`
}

// ArchitectureIn are the arguments of design.architecture.
type ArchitectureIn struct {
	architecture.Model
	Path   string `json:"path"`
	Format string `json:"format"`
	Output
}

// ArchitectureOut is the result of design.architecture.
type ArchitectureOut struct {
	DesignID      string `json:"designId" doc:"The design." format:"uuid"`
	Name          string `json:"name" doc:"Its name."`
	Pattern       string `json:"pattern" doc:"System pattern." enum:"hexagonal,clean,layered,microservices,event-driven,cqrs,ddd,mvc,mvvm,pipe-filter,other"`
	Format        string `json:"format" doc:"Output format." enum:"mermaid,plantuml,markdown,c4"`
	Diagram       string `json:"diagram,omitempty" doc:"Source of the diagram; absent if written to file."`
	Documentation string `json:"documentation,omitempty" doc:"Markdown page, of an architecture; absent if a file was written."`

	Breaks []architecture.Break `json:"breaks,omitempty" doc:"Arrows that break the pattern, if any."`
	Notes  []string             `json:"notes,omitempty" doc:"Parts of path not read."`

	CreatedAt time.Time `json:"createdAt" doc:"When it was first made."`
	Truncated bool      `json:"truncated,omitempty" doc:"True if texts are cut; design.get has the rest."`
	File      *File     `json:"file,omitempty" doc:"The written file, in place of texts, which design.get has; absent without outputPath."`
}

// ListIn are the arguments of design.list.
type ListIn struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	toolfold.Page
}

// ListOut is the result of design.list.
type ListOut struct {
	Designs []Item `json:"designs" doc:"Newest first."`
	Total   int    `json:"total" doc:"Designs that match, on all pages."`
	toolfold.Paged
}

// GetIn are the arguments of design.get.
type GetIn struct {
	DesignID string `json:"designId"`
	Offset   int    `json:"offset"` // in bytes, counting content and then documentation
}

// GetOut is the result of design.get.
type GetOut struct {
	Item
	Content       string `json:"content" doc:"The text."`
	Documentation string `json:"documentation,omitempty" doc:"Markdown page, of an architecture."`
	NextOffset    int    `json:"nextOffset,omitempty" doc:"Pass as offset to read on; absent at the end."`
}
