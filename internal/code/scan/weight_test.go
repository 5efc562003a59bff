package scan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Harmful code has severity medium or above. The same text is low if it is intended, in a test, or
// only potentially harmful. Comments expect a rule in either case, and low in the second.
func TestWeight(t *testing.T) {
	t.Parallel()
	s, heavy, all := Scanner{Dir: t.TempDir()}, []string{}, []string{}
	for name, text := range map[string]string{
		"go.mod": "module example.com/weight\n\ngo 1.24\n",
		"client/client.go": `package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
)

func always() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} // want go/tls-not-verified
}

func asked(skip bool) *tls.Config {
	if skip {
		return &tls.Config{InsecureSkipVerify: true} // low want go/tls-not-verified
	}
	return &tls.Config{}
}

func newInsecure() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} // low want go/tls-not-verified
}

func latest() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} // want go/tls-not-verified
}

func otherwise(check func(x509.Certificate) error) *tls.Config {
	return &tls.Config{
		InsecureSkipVerify: true, // low want go/tls-not-verified
		VerifyConnection: func(s tls.ConnectionState) error { return check(*s.PeerCertificates[0]) },
	}
}

func get(format string) (int, error) {
	fmt.Printf(format) // low want vet/printf staticcheck/SA1006
	answer, err := http.Get("https://a.invalid") // want go/bodyclose
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, nil
}
`,
		"client/body.go": `package client

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"sync"
)

func send(c *http.Client, r *http.Request, into any) error {
	answer, err := c.Do(r) // want go/bodyclose
	if err != nil {
		return err
	}
	if answer.Body == nil || answer.StatusCode != 200 {
		return io.EOF
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

func sendTo(c *http.Client, r *http.Request, read func(*http.Response) error) error {
	answer, err := c.Do(r)
	if err != nil {
		return err
	}
	return read(answer)
}

func open(r *http.Request) (body io.ReadCloser, err error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

func closed(c *http.Client, r *http.Request) (int, error) {
	answer, err := c.Do(r)
	if err == nil {
		defer answer.Body.Close()
		return answer.StatusCode, nil
	}
	_, err = c.Do(r) // want go/bodyclose
	c.Do(r)          // want go/bodyclose
	return 0, err
}

func save(name string) {
	os.WriteFile(name, nil, 0o600) // want go/dropped-error
	os.MkdirAll(name, 0o700)       // low want go/dropped-error
}

func feed(from io.Reader) (*os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		io.Copy(write, from)
		write.Close()
	}()
	return read, nil
}

func spill(from io.Reader, into *os.File) {
	io.Copy(into, from) // want go/dropped-error
}

type store struct {
	mu   sync.Mutex
	name string
}

type settings struct {
	Port int ` + "`json:\"port,optional\"`" + ` // low want staticcheck/SA5008
}

func (s *store) named(name string) *store {
	built := *s // low want vet/copylocks
	built.name = name
	return &built
}
`,
		"client/rows.go": `package client

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
)

func names(db *sql.DB) (list []string, err error) {
	rows, err := db.Query("select name from users") // want go/rowserrcheck
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		list = append(list, name)
	}
	return list, nil
}

type limited struct{ next http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	answer, err = l.next.RoundTrip(r)
	return
}

func query(db *sql.DB) (*sql.Rows, error) {
	rows, err := db.Query("select name from users")
	if err != nil {
		return nil, err
	}
	return rows, nil
}

func count(db *sql.DB) (n int, err error) {
	rows, err := db.Query("select name from users")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

func prepare(db *sql.DB) {
	db.Exec("PRAGMA journal_mode = WAL")       // low want go/dropped-error
	db.Exec("alter table users add nick text") // low want go/dropped-error
	db.Exec("delete from users")               // want go/dropped-error
}

func settingsOf(text []byte) (s settings) {
	json.Unmarshal(text, &s) // low want go/dropped-error
	return s
}

type cursor struct{ of *index }

type index struct {
	mu   sync.RWMutex
	size int
}

func (x *index) iterate() (*cursor, error) {
	x.mu.RLock()
	if x.size == 0 {
		x.mu.RUnlock()
		return nil, errors.New("empty")
	}
	return &cursor{of: x}, nil
}

func (x *index) freeze() func() {
	x.mu.Lock()
	if x.size == 0 {
		x.mu.Unlock()
		return nil
	}
	return x.mu.Unlock
}

func (x *index) grow(n int) (int, error) {
	x.mu.Lock()
	if n < 0 {
		return x.size, errors.New("negative") // want go/lock-not-released
	}
	x.size += n
	x.mu.Unlock()
	return x.size, nil
}
`,
		"client/name_test.go": "package client\n\nfunc ExampleNothing_here() {} // low want vet/tests\n",
		"assets/all.js":       strings.Repeat("f(a,b);", 200) + "if(x===NaN)g()",
		"cmd/get/main.go": `package main

import (
	"net/http"
	"os"
)

func main() {
	answer, err := http.Get("https://a.invalid") // low want go/bodyclose
	if err == nil {
		println(answer.StatusCode)
	}
	os.WriteFile("status", nil, 0o600) // low want go/dropped-error
}
`,
		"fetch.py": `
def fetch(url):
    return requests.get(url, verify=False)  # want python/tls-not-verified

def opened(session):
    session.verify = False  # want python/tls-not-verified

class Wheel:
    def __init__(self, name, verify=False):  # low want python/tls-not-verified
        self.name = name

class InsecureAdapter(Adapter):
    def get(self, url):
        return super().get(url, verify=False)  # low want python/tls-not-verified

jwt.decode(text, verify=False)  # low want python/tls-not-verified
`,
		"keys.py": `
SECRET_KEY = "b7Qx2LmPz91KdVh4sRt6"  # want python/hard-coded-secret
API_KEY = "AKIA2OGYBAH6QLMNZ7PV"  # want python/hard-coded-secret
NODE_KEY = "8f2e55834c9f84b8ce1c8ab5d8f1d2a18d0a4c0aa5d3f0a4a2d1ccd4e5b6a7f8"
PRIVATE_KEY = "8f2e55834c9f84b8ce1c8ab5d8f1d2a18d0a4c0aa5d3f0a4a2d1ccd4e5b6a7f8"  # low want python/hard-coded-secret
db_password = "postgres12"  # low want python/hard-coded-secret
access_key = "team-42-of-the-north"  # low want python/hard-coded-secret
`,
		"tests/conftest.py": "yaml.load(x)  # low want python/unsafe-yaml\nassert (a, b)  # want python/assert-tuple\n",
		"items.py": `
def collect(a, into=[]):  # want python/mutable-default
    into.append(a)
    return into


class Box:
    def __init__(self, items=[]):  # low want python/mutable-default
        self.items = items

    def count(self, calls=[0]):
        calls[0] += 1

    def add(self, more=[]):
        more = list(more)
        more.append(1)


def forget(items, others):
    for k in items:  # want python/changed-while-iterated
        if items[k] is None:
            del items[k]
    for x in items:  # low want python/changed-while-iterated
        items.remove(x)
    for k in items:
        if k:
            return items.pop(k)
    for k in others:  # low want python/changed-while-iterated
        others.pop("first")


def kinds(x):
    return x is "ab", x is 1000  # want python/is-literal python/is-literal


async def ping():
    pass


def start():
    ping()  # want python/missing-await


if __name__ == "__main__":
    ping()  # low want python/missing-await


def small(x):
    return x is 1, x is "a"  # low want python/is-literal python/is-literal


def outer():
    def inner(into=[]):  # low want python/mutable-default
        into.append(1)

    return inner
`,
		"tag.go":      "package a\n\ntype odd struct {\n\tA int `json:a` // want vet/structtag\n}\n\nvar _ odd\n",
		"tag_test.go": "package a\n\ntype same struct {\n\tA int `json:a` // low want vet/structtag\n}\n\nvar _ same\n",
		"equal.go":    "package a\n\nfunc equal(a int) int { return a - a } // low want staticcheck/SA4000\n\nvar _ = equal\n",
		"hooks.py": "class Hooks:\n" +
			"    def begin():  # low want python/method-without-self\n        print(1)\n\n    def end(self):\n        pass\n",
		"accept.go": "package a\n\ntype AcceptOptions struct{ InsecureSkipVerify bool }\n\n" +
			"var accept = AcceptOptions{InsecureSkipVerify: true}\n",
		"log.js":   "export const line = (a) => {\n  const text = `${a.b}\n${a.c}\nWhole: ${a.d === true}\n`;\n  return text;\n};\n",
		"agent.js": "export default {\n  rejectUnauthorized: false, // want js/tls-not-verified\n};\n",
		"wait.js": `
export const lost = () => new Promise(async (resolve) => { // want js/async-executor
  resolve(await fetch("/"));
});
export const caught = () => new Promise(async (resolve, reject) => { // low want js/async-executor
  try { resolve(await fetch("/")); } catch (error) { reject(error); }
});
export const later = () => new Promise(async (resolve, reject) => { // low want js/async-executor
  const start = Date.now();
  on("end", async () => { resolve(await fetch("/")); });
  try { await fetch("/"); } catch (error) { reject(error); }
});
export const real = (x, y) => x === x || // low want js/self-comparison
  y.a === y.a; // want js/self-comparison
export function size(x) {
  try { return x.read(); } catch { x = 0; } finally { return x; } // low want js/return-in-finally
}
export function last(x) {
  try { x.read(); } finally { return x; } // want js/return-in-finally
}
`,
	} {
		s.write(t, name, text)
		all = append(all, wanted(name, text)...)
		for line := range strings.SplitSeq(text, "\n") {
			if strings.Contains(line, " low want ") {
				text = strings.Replace(text, line, "", 1)
			}
		}
		heavy = append(heavy, wanted(name, text)...)
	}
	for level, want := range map[string][]string{"medium": heavy, "low": all} {
		slices.Sort(want)
		report := s.must(t, Request{Purpose: Bugs, Level: level})
		for _, skipped := range report.Skipped {
			t.Errorf("%s was skipped: %s", skipped.Path, skipped.Reason)
		}
		if diff := cmp.Diff(want, places(report.Findings)); diff != "" {
			t.Errorf("%s: %s", level, diff)
		}
	}
}
