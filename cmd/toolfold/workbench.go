package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/storage"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/all"
)

// workbench is everything that runs calls, put together from the options.
type workbench struct {
	*surface.Surface
	store *storage.LazyDB
	log   *slog.Logger
}

// openWorkbench is the workbench that a command's options ask for.
func openWorkbench(c *cli.Context) (*workbench, error) {
	o, err := loadOptions(c)
	if err != nil {
		return nil, err
	}
	return newWorkbench(o)
}

// newWorkbench opens nothing: the store is opened by the first call that
// needs it.
func newWorkbench(o *options) (*workbench, error) {
	mode, level, err := o.surface()
	if err != nil {
		return nil, err
	}
	if err := storage.CheckURL(o.text("store")); err != nil {
		return nil, usageError("%v", err)
	}
	b := &workbench{store: storage.Lazy(o.text("store")), log: logger()}
	b.Surface = surface.New(surface.Options{Mode: mode, Level: level, Strict: o.yes("strictNames"), Log: b.log})
	return b, b.Catalogue.Put(all.Mount(all.Host{
		Open:  func(ctx context.Context) (all.Stores, error) { return b.store.Open(ctx) },
		Files: o.files, Caller: b.Caller, Discovery: b.Discovery, Log: b.log, Now: time.Now, NewID: uuid.NewString,
	})...)
}

// surface is the mode and the level that the options ask for.
func (o *options) surface() (surface.Mode, lazy.Level, error) {
	mode, err := surface.ParseMode(o.text("toolMode"))
	if err != nil {
		return "", "", usageError("%v", err)
	}
	name := o.text("listing")
	if name == "" {
		return mode, mode.DefaultLevel(), nil
	}
	level, err := lazy.ParseLevel(name)
	if err != nil {
		return "", "", usageError("%v", err)
	}
	return mode, level, nil
}

// list is what a client that just connected is shown.
func (b *workbench) list() []lazy.Listed {
	return b.Discovery.ListFor(lazy.Session{})
}

// logger writes to standard error: standard output belongs to the protocol.
func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
