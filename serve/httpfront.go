package serve

import (
	"bytes"
	"io"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// inFrontOf puts front before mcp-go's handler.
func (s *Server) inFrontOf(streamable http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			streamable.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "reading request: "+err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		s.post(w, r, body, streamable)
	})
}

func (s *Server) post(w http.ResponseWriter, r *http.Request, body []byte, streamable http.Handler) {
	probed := &capture{header: http.Header{}, status: http.StatusOK}
	reply, next := s.front(body, func(message []byte) []byte {
		streamable.ServeHTTP(probed, withMessage(r, body, message))
		return probed.body.Bytes()
	})
	if reply == nil {
		s.pass(w, r, next, streamable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if probed.status >= http.StatusBadRequest {
		w.Header().Set("Content-Type", probed.header.Get("Content-Type"))
		w.WriteHeader(probed.status)
	}
	w.Write(reply)
}

// pass hands a message on to mcp-go.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, body []byte, streamable http.Handler) {
	body, undo := maskID(body)
	if undo {
		w = &unmasking{w}
	}
	streamable.ServeHTTP(w, withBody(r, body))
}

// capture keeps a response.
type capture struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (c *capture) Header() http.Header { return c.header }

// WriteHeader implements [http.ResponseWriter].
func (c *capture) WriteHeader(status int) { c.status = status }

// Write implements [http.ResponseWriter].
func (c *capture) Write(p []byte) (int, error) { return c.body.Write(p) }

// withMessage is the request with another message in it. The header that
// repeats the method follows, if it was right for the message that came.
func withMessage(r *http.Request, original, message []byte) *http.Request {
	probe := withBody(r, message)
	probe.Header = r.Header.Clone()
	was, _ := parseMessage(original)
	now, _ := parseMessage(message)
	if probe.Header.Get(mcp.HeaderMethod) == was.method {
		probe.Header.Set(mcp.HeaderMethod, now.method)
		probe.Header.Del(mcp.HeaderName)
	}
	return probe
}

// withBody is the request with another body; it shares everything else.
func withBody(r *http.Request, body []byte) *http.Request {
	clone := r.WithContext(r.Context())
	clone.Body = io.NopCloser(bytes.NewReader(body))
	clone.ContentLength = int64(len(body))
	return clone
}

// unmasking puts the id of a request back as it was written, in a JSON answer
// and in the events of a stream: mcp-go writes each whole.
type unmasking struct {
	http.ResponseWriter
}

// Write implements [io.Writer].
func (u *unmasking) Write(p []byte) (int, error) {
	if _, err := u.ResponseWriter.Write(unmaskID(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush implements [http.Flusher].
func (u *unmasking) Flush() {
	if f, ok := u.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
