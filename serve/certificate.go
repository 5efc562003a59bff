package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/toolfold/toolfold/internal/system/reread"
)

// certificates returns the configuration of TLS; nil without a certificate. It offers HTTP/1.1 alone: limits and
// deadlines are those of connections.
func (h HTTP) certificates(log *slog.Logger) (*tls.Config, error) {
	if h.CertFile == "" && h.KeyFile == "" {
		return nil, nil
	}
	if h.CertFile == "" || h.KeyFile == "" {
		return nil, errors.New("TLS needs both a certificate and its key")
	}
	file := &reread.File[*tls.Certificate]{
		Path: h.CertFile, Every: time.Second,
		Read: func(fs.FileInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(h.CertFile, h.KeyFile)
			return &pair, err
		},
	}
	if _, err := file.Now(); err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	file.Failed = func(err error) { log.Error("the certificate cannot be read; the one before is served", "err", err) }
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, _ := file.Now() // the last that could be read
			return pair, nil
		},
	}, nil
}
