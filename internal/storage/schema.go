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

// schemaTable lists the applied schema steps.
const schemaTable = "toolfold_schema"

// upgrade applies the missing schema steps. The caller must hold a lock that excludes other
// processes. For a database with steps, upgrade first calls keep with the last step; keep may be
// nil.
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
	// The queue's own tables come first: every schema step, even an empty one, upgrades them, and
	// an interrupted step is repeated.
	if err := d.migrateQueue(ctx, pool); err != nil {
		return fmt.Errorf("upgrading schema: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("upgrading schema: %w", err)
	}
	return nil
}
