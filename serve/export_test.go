package serve

import (
	"log/slog"
	"time"
)

// BodyWithin makes a server wait only that long for the body of a request.
func (s *Server) BodyWithin(most time.Duration) { s.waits.body = most }

// ReadWithin makes a server wait only that long for a client to read what was written.
func (s *Server) ReadWithin(most time.Duration) { s.waits.write = most }

// TurnWithin makes calls wait only that long for their turn.
func (s *Server) TurnWithin(most time.Duration) { s.waits.call = most }

var quietLog = slog.New(slog.DiscardHandler)
