// Package faulty has one fault of each kind.
package faulty

import (
	"context"
	"crypto/tls"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const password = "hunter2hunter2" // want go/hard-coded-secret

func formats(n int) {
	fmt.Printf("%d\n", "text")          // want vet/printf
	fmt.Printf("%d %d\n", n)            // want vet/printf
	fmt.Sprintf("%d", n)                // want vet/unusedresult
	_ = string(rune(n)) + string(n)     // want vet/stringintconv
	_ = time.Now().Format("2006-02-01") // want vet/timeformat
}

func assigns(x int) int {
	x = x      // want vet/assign staticcheck/SA4018
	y := x + 1 // want staticcheck/SA4006
	y = 2
	return y
}

func conditions(x int, f func()) bool {
	if formats == nil { // want vet/nilfunc vet/nilness
		f()
	}
	return x == 1 || x == 1 // want vet/bools staticcheck/SA4000
}

func locks(mu sync.Mutex, n *int64) { // want vet/copylocks
	mu.Lock()
	mu.Unlock()                // want staticcheck/SA2001
	*n = atomic.AddInt64(n, 1) // want vet/atomic
}

func timing(start time.Time) {
	defer fmt.Println(time.Since(start)) // want vet/defers
	time.Sleep(10)                       // want staticcheck/SA1004
}

type fault struct{}

func (fault) Error() string { return "fault" }

func fails(err error) bool {
	var target fault
	if errors.As(err, target) { // want vet/errorsas
		return true
	}
	return reflect.DeepEqual(err, io.EOF) // want vet/deepequalerrors
}

func fetch(url string) error {
	resp, err := http.Get(url)
	defer resp.Body.Close() // want vet/httpresponse staticcheck/SA5001
	return err
}

func asserts(r io.Reader) {
	_ = r.(interface{ Read(string) (int, error) }) // want vet/ifaceassert
}

func cancels() context.Context {
	ctx, _ := context.WithTimeout(context.Background(), time.Second) // want vet/lostcancel
	return ctx
}

func pointers(p *fault, m map[string]int) {
	if p == nil {
		fmt.Println(*p) // want vet/nilness
	}
	var none map[string]int
	none["a"] = 1 // want staticcheck/SA5000 vet/nilness
	for range m {
		_ = m
	}
}

func shifts(n int32) int32 { return n << 40 } // want vet/shift

func signals() {
	c := make(chan os.Signal)
	signal.Notify(c, os.Interrupt) // want vet/sigchanyzer
}

func sorts(list [3]int) {
	sort.Slice(list, func(i, j int) bool { return list[i] < list[j] }) // want vet/sortslice
}

func (fault) WriteTo(w io.Writer) error { return nil } // want vet/stdmethods

type tagged struct {
	Name string `json:name` // want vet/structtag
}

func decodes(raw []byte) {
	var t tagged
	json.Unmarshal(raw, t) // want vet/unmarshal
}

func ends() int {
	return 1
	return 2 // want vet/unreachable
}

func writes(list []tagged) {
	for _, t := range list {
		t.Name = "x" // want vet/unusedwrite
	}
}

func appends(list []int) []int {
	list = append(list) // want vet/appends
	return list
}

func waits(wg *sync.WaitGroup) {
	go func() {
		wg.Add(1) // want vet/waitgroup
		defer wg.Done()
	}()
}

func expressions() {
	regexp.MustCompile("(") // want staticcheck/SA1000
	regexp.MustCompile("a")
}

func folds(a, b string) bool {
	return strings.ToLower(a) == strings.ToLower(b) // want staticcheck/SA6005
}

func overwritten(n int) int { // want staticcheck/SA4009
	n = 3
	return n
}

func loops(c chan *os.File) {
	for f := range c {
		defer f.Close() // want staticcheck/SA9001
	}
}

func nils() {
	run(nil) // want staticcheck/SA1012
}

func run(ctx context.Context) { <-ctx.Done() }

func queries(db *sql.DB, name string) {
	db.Query(fmt.Sprintf("SELECT * FROM users WHERE name = '%s'", name)) // want go/sql-injection
	db.Query("SELECT * FROM users WHERE name = ?", name)
}

func commands(line string) {
	exec.Command("sh", "-c", line).Run() // want go/shell-command
	exec.Command("ls", line).Run()
}

var config = tls.Config{InsecureSkipVerify: true} // want go/tls-not-verified
