package telemetry

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// answers is a receiver of spans that returns these answers in turn.
type answers []http.Response

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	next := (*a)[0]
	*a = (*a)[1:]
	if next.StatusCode == 0 {
		return nil, errors.New("connection refused")
	}
	if next.Body == nil {
		next.Body = http.NoBody
	}
	next.Status = http.StatusText(next.StatusCode)
	return &next, nil
}

func TestOTLPSettings(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/base/")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b,x=1")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "X=2")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1500")
	r, err := newReceiver()
	if err != nil {
		t.Fatal(err)
	}
	if r.url != "http://collector:4318/base/v1/traces" || r.client.Timeout != 1500*time.Millisecond {
		t.Errorf("sends to %s within %s", r.url, r.client.Timeout)
	}
	r.client.Transport = roundTrip(func(request *http.Request) (*http.Response, error) {
		for name, want := range map[string]string{"Api-Key": "a b", "X": "2", "Content-Encoding": "gzip",
			"Content-Type": "application/x-protobuf"} {
			if got := request.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		unzipped, err := gzip.NewReader(request.Body)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(unzipped)
		var data tracepb.TracesData
		if err != nil || proto.Unmarshal(body, &data) != nil || len(data.ResourceSpans) != 1 {
			t.Errorf("sent %q, %v", body, err)
		}
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})
	if err := r.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{SchemaUrl: "x"}}); err != nil {
		t.Error(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://other/own?q=1")
	if r, err := newReceiver(); err != nil || r.url != "https://other/own?q=1" {
		t.Errorf("sends to %s, %v", r.url, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An invalid setting is reported at the start, by name.
func TestOTLPRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for setting, value := range map[string]string{
		"ENDPOINT": "localhost:4318", "HEADERS": "key", "COMPRESSION": "zstd", "TIMEOUT": "10s", "CERTIFICATE": file, "CLIENT_CERTIFICATE": file,
	} {
		t.Run(setting, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
			name := "OTEL_EXPORTER_OTLP_" + setting
			t.Setenv(name, value)
			if _, err := newReceiver(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		})
	}
}

// Spans are sent again while the receiver is busy or unreachable, but not after it rejected them.
func TestOTLPRetries(t *testing.T) {
	t.Parallel()
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), "too old")
	partial = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
	body := func(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }
	for _, test := range []struct {
		why     string
		answers answers
		want    string // the error; empty = no error
		least   time.Duration
	}{
		{"it was away and busy", answers{{}, {StatusCode: 503}, {StatusCode: 200}}, "", 7 * time.Second},
		{"it says when", answers{{StatusCode: 429, Header: http.Header{"Retry-After": {"20"}}}, {StatusCode: 200}}, "", 20 * time.Second},
		{"it says too late", answers{{StatusCode: 429, Header: http.Header{"Retry-After": {"3600"}}}}, "Too Many Requests", 0},
		{"it refuses", answers{{StatusCode: 401, Body: body("no key")}}, "Unauthorized: no key", 0},
		{"it refuses some", answers{{StatusCode: 200, Body: body(string(partial))}}, "refused 3 spans: too old", 0},
		{"it answers rubbish", answers{{StatusCode: 200, Body: body("\x0a\xff\xff\xff")}}, "", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{url: "http://collector/v1/traces", header: http.Header{}, client: &http.Client{Transport: &test.answers}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			err := r.UploadTraces(ctx, nil)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s: %v, want %q", test.why, err, test.want)
			}
			if len(test.answers) > 0 || time.Since(start) < test.least {
				t.Errorf("%s: ended after %s, %d answers left", test.why, time.Since(start), len(test.answers))
			}
		})
	}
}
