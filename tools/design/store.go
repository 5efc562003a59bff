package design

import (
	"context"
	"time"

	"github.com/toolfold/toolfold"
)

// Design is a design as it is stored. CreatedAt is UTC in whole microseconds.
type Design struct {
	ID, Type, Format, Name string
	Content                string // the whole text, as a file of it holds it
	Documentation          string // of an architecture; else empty
	CreatedAt              time.Time
}

// Store keeps designs, which never change. Methods are safe for concurrent
// use, also by several processes.
type Store interface {
	// Put keeps a design, unless there is one with its ID, and returns when the
	// one that is there was created.
	Put(ctx context.Context, d Design) (createdAt time.Time, err error)

	// Get returns a design; found is false where there is none.
	Get(ctx context.Context, id string) (d Design, found bool, err error)

	// Wrote reports whether there is a design whose Content or Documentation is
	// that text.
	Wrote(ctx context.Context, text string) (bool, error)

	// List returns designs, newest first, those of one moment by falling id.
	List(ctx context.Context, q Query) (Page, error)
}

// Query picks designs. An empty Type does not filter.
type Query struct {
	Type  string
	Limit int
	After *toolfold.Position // nil = from the newest
}

// Page is a part of a list.
type Page struct {
	Designs []Listed
	Total   int // of all designs that the query picks, After and Limit aside
}

// Listed is a design as design.list shows it. The store leaves Status out.
type Listed struct {
	ID        string    `json:"designId" doc:"The design." format:"uuid"`
	Type      string    `json:"type" doc:"Its type." enum:"api,component,schema,architecture"`
	Format    string    `json:"format" doc:"Output format; the language of a component."`
	Name      string    `json:"name" doc:"Its name."`
	Status    string    `json:"status" doc:"Always draft." enum:"draft,review,approved,implemented,deprecated"`
	CreatedAt time.Time `json:"createdAt" doc:"When it was first made."`
}
