package storage

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed schema
var schema embed.FS

// schemaTable lists the schema steps that the database has seen.
const schemaTable = "toolfold_schema"

// upgrade runs the schema steps that the database has not seen. The caller
// holds a lock, so that no other process does the same. Keep is called before,
// with the step of a database that has some; nil does nothing.
func upgrade(ctx context.Context, pool *sql.DB, d dialect, keep func(step int64) error) error {
	steps, err := fs.Sub(schema, d.schema)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(d.name, pool, steps, goose.WithTableName(schemaTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("reading schema steps: %w", err)
	}
	current, latest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading schema version: %w", err)
	}
	if current > latest {
		return &fault{
			unavailable("the store was written by a newer toolfold").WithHint("use a newer toolfold, or another store"),
			fmt.Errorf("it has schema step %d, this toolfold knows %d", current, latest),
		}
	}
	if current == latest {
		return nil
	}
	if current > 0 && keep != nil {
		if err := keep(current); err != nil {
			return fmt.Errorf("upgrading schema: %w", err)
		}
	}
	// The queue's own tables come first: a step that changes them is any step,
	// even an empty one, and one that was interrupted is taken again.
	if err := d.migrateQueue(ctx, pool); err != nil {
		return fmt.Errorf("upgrading schema: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("upgrading schema: %w", err)
	}
	return nil
}
