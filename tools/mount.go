package tools

import (
	"context"
	"fmt"
	"sync"
)

// Opener builds a family's service. It is called by the first call that needs
// the service, and again after an error.
type Opener[S any] func(context.Context) (S, error)

// Mount returns the family as plain data, bound to its service: its actions
// can be run. It opens nothing.
func (f Family[S]) Mount(open Opener[S]) *Spec {
	spec := f.Spec()
	spec.service = &service{open: func(ctx context.Context) (any, error) { return open(ctx) }}
	return spec
}

// service opens a family's service once. An error is not kept: the next call
// tries again.
type service struct {
	open  func(context.Context) (any, error)
	mu    sync.Mutex
	value any
}

func (s *service) get(ctx context.Context) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.value != nil {
		return s.value, nil
	}
	value, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.value = value
	return value, nil
}

// invoke runs the action with its own arguments, checked and complete.
func (a *ActionSpec) invoke(ctx context.Context, args []byte) (any, error) {
	if a.Family.service == nil {
		return nil, fmt.Errorf("family %s is not mounted", a.Family.Name)
	}
	value, err := a.Family.service.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", a.Family.Name, err)
	}
	return a.run(ctx, value, args)
}
