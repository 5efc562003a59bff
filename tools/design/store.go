package design

import (
	"context"
	"time"

	"github.com/toolfold/toolfold"
)

// Design is a stored design. CreatedAt is UTC in whole microseconds.
type Design struct {
	ID, Type, Format, Name string
	Content                string // the whole text of its file
	Documentation          string // for architectures; otherwise empty
	CreatedAt              time.Time
}

// Store stores designs, which never change. Methods are safe for concurrent use, also by several
// processes.
type Store interface {
	// Put stores a design unless its ID exists. It returns the creation time of the stored design.
	Put(ctx context.Context, d Design) (createdAt time.Time, err error)

	// Get returns a design; found is false if it does not exist.
	Get(ctx context.Context, id string) (d Design, found bool, err error)

	// Wrote reports whether the text is the Content or Documentation of a stored design.
	Wrote(ctx context.Context, text string) (bool, error)

	// List returns designs, newest first; designs of the same time by descending id.
	List(ctx context.Context, q Query) (Page, error)
}

// Query filters designs. An empty Type does not filter.
type Query struct {
	Type  string
	Limit int
	After *toolfold.Position // nil = from the newest design
}

// Page is a part of a list.
type Page struct {
	Designs []Item
	Total   int // of all matching designs, ignoring After and Limit
}

// Item is a design in design.list. The store does not set Status.
type Item struct {
	ID        string    `json:"designId" doc:"The design." format:"uuid"`
	Type      string    `json:"type" doc:"Its type." enum:"api,component,schema,architecture"`
	Format    string    `json:"format" doc:"Output format; the language of a component."`
	Name      string    `json:"name" doc:"Its name."`
	Status    string    `json:"status" doc:"Always draft." enum:"draft,review,approved,implemented,deprecated"`
	CreatedAt time.Time `json:"createdAt" doc:"When it was first made."`
}
