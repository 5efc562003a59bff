package serve

import (
	"log/slog"
	"time"
)

// BodyWithin sets how long a server waits for the body of a request.
func (s *Server) BodyWithin(most time.Duration) { s.waits.body = most }

// ReadWithin sets how long a server waits for a client to read an answer.
func (s *Server) ReadWithin(most time.Duration) { s.waits.write = most }

// TurnWithin sets how long calls wait for their turn.
func (s *Server) TurnWithin(most time.Duration) { s.waits.call = most }

// SilenceWithin sets how long a server waits for a letter of another one.
func (s *Server) SilenceWithin(most time.Duration) { s.letters.silence = most }

// Process returns the beginning of the states of a server.
func (s *Server) Process() string { return s.pendingCalls.process }

var quietLog = slog.New(slog.DiscardHandler)
