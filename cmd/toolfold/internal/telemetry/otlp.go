package telemetry

import (
	"context"
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
)

var serviceName = attribute.String("service.name", "toolfold")

// otlp returns the exporter to the endpoint that the environment names, nil
// where it names none or turns it off. The exporter reads its other settings
// (headers, certificates, timeout) from the environment itself.
func otlp() (*otlptrace.Exporter, error) {
	either := func(name string) string {
		if own := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); own != "" {
			return own
		}
		return os.Getenv("OTEL_EXPORTER_OTLP_" + name)
	}
	off := strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none"
	if either("ENDPOINT") == "" || off {
		return nil, nil
	}
	if protocol := either("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: only http/protobuf is spoken, usually on port 4318", protocol)
	}
	exporter, err := otlptracehttp.New(context.Background()) // connects with the first batch
	if err != nil {
		return nil, fmt.Errorf("preparing OTLP export: %w", err)
	}
	return exporter, nil
}
