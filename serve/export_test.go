package serve

import (
	"log/slog"
	"time"
)

// Hurry makes a server wait for clients and calls only that long.
func (s *Server) Hurry(most time.Duration) {
	s.waits = patience{body: most, write: most, call: most, task: most, look: most}
}

var quietLog = slog.New(slog.DiscardHandler)
