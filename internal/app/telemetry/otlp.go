package telemetry

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

var serviceName = attribute.String("service.name", "toolfold")

const (
	otlpTimeout  = 10 * time.Second // of a request, unless the environment sets another one
	otlpPause    = 5 * time.Second  // before the first retry; doubles each time
	otlpMaxPause = 30 * time.Second
	otlpReply    = 64 << 10 // bytes read of an answer
)

// otlp returns an exporter to the endpoint in the environment, or nil if none is set or export is
// disabled. The context of a batch bounds its retries.
func otlp() (*otlptrace.Exporter, error) {
	off := strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none"
	if _, endpoint := otlpSetting("ENDPOINT"); endpoint == "" || off {
		return nil, nil
	}
	if name, protocol := otlpSetting("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("%s is %q: only http/protobuf is spoken, usually on port 4318", name, protocol)
	}
	receiver, err := newReceiver()
	if err != nil {
		return nil, fmt.Errorf("preparing OTLP export: %w", err)
	}
	return otlptrace.New(context.Background(), receiver) // connects with the first batch
}

// otlpSetting returns an environment variable for traces, or else for all signals.
func otlpSetting(setting string) (name, value string) {
	name = "OTEL_EXPORTER_OTLP_TRACES_" + setting
	if value = os.Getenv(name); value == "" {
		name = "OTEL_EXPORTER_OTLP_" + setting
		value = os.Getenv(name)
	}
	return name, strings.TrimSpace(value)
}

// receiver sends spans by OTLP over HTTP. It replaces OpenTelemetry's client, which would link gRPC
// for its request types.
type receiver struct {
	url    string
	header http.Header
	zip    bool
	client *http.Client
}

// newReceiver reads the settings from the environment.
func newReceiver() (*receiver, error) {
	name, endpoint := otlpSetting("ENDPOINT")
	address, err := url.Parse(endpoint)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("%s is no URL such as http://127.0.0.1:4318", name)
	}
	if !strings.Contains(name, "TRACES") {
		address = address.JoinPath("v1", "traces")
	}
	r := &receiver{url: address.String(), header: http.Header{"Content-Type": {"application/x-protobuf"}}}
	if err := r.readHeaders(); err != nil {
		return nil, err
	}
	switch name, compression := otlpSetting("COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		r.zip = true
		r.header.Set("Content-Encoding", "gzip")
	default:
		return nil, fmt.Errorf("%s is %q: use gzip or none", name, compression)
	}
	timeout := otlpTimeout
	if name, text := otlpSetting("TIMEOUT"); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%s is %q: it is a number of milliseconds", name, text)
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	certificates, err := otlpTLS()
	if err != nil {
		return nil, err
	}
	r.client = &http.Client{Timeout: timeout, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: certificates, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
	}}
	return r, nil
}

// readHeaders parses comma-separated, percent-encoded key=value pairs.
func (r *receiver) readHeaders() error {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} { // the latter wins
		for pair := range strings.SplitSeq(os.Getenv(prefix+"HEADERS"), ",") {
			if strings.TrimSpace(pair) == "" {
				continue
			}
			key, encoded, ok := strings.Cut(pair, "=")
			value, err := url.PathUnescape(strings.TrimSpace(encoded))
			if !ok || err != nil {
				return fmt.Errorf("%sHEADERS is no list such as key=value,other=value", prefix)
			}
			r.header.Set(strings.TrimSpace(key), value)
		}
	}
	return nil
}

// otlpTLS returns the TLS configuration from the environment.
func otlpTLS() (*tls.Config, error) {
	config := &tls.Config{}
	if name, path := otlpSetting("CERTIFICATE"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s names a file without a certificate", name)
		}
	}
	if name, path := otlpSetting("CLIENT_CERTIFICATE"); path != "" {
		_, key := otlpSetting("CLIENT_KEY")
		pair, err := tls.LoadX509KeyPair(path, key)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Start implements [otlptrace.Client].
func (r *receiver) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (r *receiver) Stop(context.Context) error {
	r.client.CloseIdleConnections()
	return nil
}

// UploadTraces implements [otlptrace.Client]. It retries while the receiver is busy or unreachable,
// until ctx ends.
func (r *receiver) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans}) // encodes like the service's request
	if err != nil {
		return fmt.Errorf("encoding spans: %w", err)
	}
	if r.zip {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		_, writeErr := w.Write(body)
		if err := errors.Join(writeErr, w.Close()); err != nil {
			return fmt.Errorf("compressing spans: %w", err)
		}
		body = zipped.Bytes()
	}
	for pause := otlpPause; ; pause = min(2*pause, otlpMaxPause) {
		err := r.send(ctx, body)
		var later *laterError
		if !errors.As(err, &later) {
			return err
		}
		wait := max(later.after, pause/2+rand.N(pause))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// laterError is the error of a request that may be retried.
type laterError struct {
	error
	after time.Duration // the receiver's requested delay
}

// busy lists the statuses after which a request may be retried.
var busy = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// send sends one request.
func (r *receiver) send(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = r.header.Clone()
	response, err := r.client.Do(request)
	if err != nil {
		return &laterError{error: err}
	}
	defer response.Body.Close()
	reply, _ := io.ReadAll(io.LimitReader(response.Body, otlpReply))
	if response.StatusCode/100 == 2 {
		return rejected(reply)
	}
	err = fmt.Errorf("the receiver answered %s: %s", response.Status, cmp.Or(strings.TrimSpace(string(reply)), "(empty)"))
	if slices.Contains(busy, response.StatusCode) {
		return &laterError{err, retryAfter(response.Header.Get("Retry-After"))}
	}
	return err
}

// retryAfter parses a Retry-After header, in seconds or as a date.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at)
	}
	return 0
}

// rejected returns an error if an answer reports rejected spans, in rejected_spans and
// error_message of the field partial_success.
func rejected(reply []byte) error {
	partial := protoField(reply, 1)
	count, _ := protowire.ConsumeVarint(protoField(partial, 1))
	if message := protoField(partial, 2); count > 0 || len(message) > 0 {
		return fmt.Errorf("the receiver refused %d spans: %s", count, message)
	}
	return nil
}

// protoField returns the bytes of a protobuf message's field, or nil.
func protoField(message []byte, number protowire.Number) []byte {
	for len(message) > 0 {
		found, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		size := protowire.ConsumeFieldValue(found, kind, message[n:])
		if size < 0 {
			return nil
		}
		value := message[n : n+size]
		if found == number {
			if kind == protowire.BytesType {
				value, _ = protowire.ConsumeBytes(value)
			}
			return value
		}
		message = message[n+size:]
	}
	return nil
}
