package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/serve"
)

// writeCertificate writes a certificate with a serial number, and its key. It returns the certificate.
func writeCertificate(t *testing.T, serial int64, cert, key string) *x509.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{key: {Type: "PRIVATE KEY", Bytes: encoded}, cert: {Type: "CERTIFICATE", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// A server with a certificate serves TLS alone, takes a new certificate without a restart, and keeps the former while
// the files have a fault.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	trusted := x509.NewCertPool()
	trusted.AddCert(writeCertificate(t, 1, cert, key))
	s, _ := newServer(t, "")
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- s.HTTP(ctx, serve.HTTP{Addr: "127.0.0.1:0", CertFile: cert, KeyFile: key, Ready: func(at net.Addr) { ready <- at }})
	}()
	address := (<-ready).String()
	get := func(origin string) (serial int64, status int) {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, DisableKeepAlives: true}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.TLS.PeerCertificates[0].SerialNumber.Int64(), answer.StatusCode
	}
	if serial, status := get("https://" + address); serial != 1 || status != http.StatusOK {
		t.Errorf("certificate %d, status %d", serial, status)
	}
	if _, status := get("http://" + address); status != http.StatusForbidden {
		t.Errorf("a page without TLS is answered %d", status)
	}
	if answer, err := http.Get("http://" + address + "/healthz"); err == nil {
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("a request without TLS is answered %d %s", answer.StatusCode, text)
		}
	}
	if err := os.WriteFile(cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if serial, _ := get(""); serial != 1 {
			t.Errorf("with a broken file: certificate %d", serial)
		}
	}
	trusted.AddCert(writeCertificate(t, 2, cert, key))
	for serial := int64(1); serial != 2; { // the files are looked at once a second
		serial, _ = get("")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, h := range []serve.HTTP{{CertFile: cert}, {KeyFile: key}, {CertFile: key, KeyFile: key}, {CertFile: cert, KeyFile: dir}} {
		h.Addr = "127.0.0.1:0"
		if err := s.HTTP(t.Context(), h); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%+v: %v", h, err)
		}
	}
}
