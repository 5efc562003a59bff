// Command attack starts toolfold servers on loopback and attacks them. For each measure it prints
// what it tried and the counts that must be zero. It exits with 1 if one of them is not.
//
//	go run -C e2e ./attack -only fuzz,kill -full
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toolfold/toolfold/e2e/product"
)

// measure is one kind of attack.
type measure struct {
	name       string
	store      string   // the only store it runs on; empty = any
	mustBeZero []string // in addition to faults
	run        func(context.Context, *place) error
}

var measures = []measure{
	{name: "fuzz", run: fuzz},
	{name: "wrong", mustBeZero: []string{dropped, accepted, unmended, astray}, run: wrong},
	{name: "kill", mustBeZero: []string{lost, "refused writes", open, failed}, run: kill},
	{name: "steps", mustBeZero: []string{rerun, repeats, missing, open}, run: steps},
	{name: "soak", mustBeZero: []string{"streams that outlive their session",
		"memory over the bound", "goroutines left", "files left"}, run: soak},
	{name: "initialize", mustBeZero: []string{"sessions over the limit",
		"new sessions that are gone", "memory over the bound"}, run: initialize},
	{name: "slow", mustBeZero: []string{"other clients kept waiting", "connections not closed in time"}, run: slow},
	{name: "foreign", store: "sqlite", mustBeZero: foreignFaults, run: foreign},
	{name: "questions", store: "sqlite", mustBeZero: []string{strayQuestion, strayAnswer, noQuestion}, run: questions},
	{name: "crowd", mustBeZero: []string{"memory that grows", "spans dropped at up to 2,000 calls a second"}, run: crowd},
	{name: "growth", mustBeZero: []string{steep, uneven}, run: growth},
	{name: "hostile", mustBeZero: []string{"refused writes"}, run: hostile},
	{name: "stopped", mustBeZero: []string{lost, "refused writes", open, failed}, run: stopped},
	{name: "upgrade", mustBeZero: []string{lost, "refused writes", open, failed}, run: upgrade},
	{name: "terminate", store: "postgres", mustBeZero: []string{lost, "refused writes", open}, run: terminate},
	{name: "away", store: "postgres", mustBeZero: []string{lost, "refused writes", open}, run: away},
	{name: "restart", store: "postgres", mustBeZero: []string{lost, "refused writes", open}, run: restart},
	{name: "failover", store: "postgres", mustBeZero: []string{lost, "refused writes", open}, run: failover},
	{name: "full", store: "sqlite", mustBeZero: []string{lost, "other refusals", "stores that fail with space", open}, run: full},
}

// size limits what a measure tries.
type size struct {
	fuzzCalls   int
	fuzz        time.Duration // their time limit
	wrong       int           // calls with a mistake per family
	kills       int
	stepKills   int // in the middle of tasks
	soak        time.Duration
	initializes int
	foreigners  int  // broken servers behind the gateway; 120 cover every breakage as the first one
	connections int  // slow ones
	patient     bool // wait for the limits of bodies and idle connections, too
	terminate   time.Duration
	sessions    int // of a crowd
	callers     int // in them
	crowd       time.Duration
	growth      int           // open tasks at the end; notes and traces are ten times as many
	timed       bool          // judge how costs grow by wall time; few entries or a busy machine prove nothing
	notes       int           // MiB that hostile queries search
	stopped     time.Duration // time in which a server is stopped half of the time
	upgrades    int
	limit       time.Duration // time limit of one measure
}

var (
	usual = size{
		fuzzCalls: 10_000, fuzz: 8 * time.Second, wrong: 25, kills: 10, stepKills: 10, soak: 5 * time.Second,
		initializes: 5_000, foreigners: 120,
		connections: 1_000, terminate: 6 * time.Second,
		sessions: 300, callers: 40, crowd: 5 * time.Second, growth: 1_000,
		notes: 5, stopped: 4 * time.Second, upgrades: 2, limit: 2 * time.Minute,
	}
	large = size{
		fuzzCalls: 100_000, fuzz: 10 * time.Minute, wrong: 400, kills: 200, stepKills: 200, soak: 10 * time.Minute,
		initializes: 30_000, foreigners: 2_000,
		connections: 1_000, patient: true, terminate: time.Minute,
		sessions: 2_000, callers: 200, crowd: 2 * time.Minute, growth: 100_000, timed: true,
		notes: 100, stopped: time.Minute, upgrades: 10, limit: 20 * time.Minute,
	}
)

// attack is one run of the command.
type attack struct {
	binary   string
	previous string // the previous version, from which upgrade starts; empty = the same
	store    string // sqlite or postgres
	postgres string // URL
	dir      string // everything that the servers write, except to PostgreSQL
	seed     uint64
	size
}

func main() {
	if isForeign() || isAsking() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout))
}

func run(ctx context.Context, args []string, out io.Writer) (exit int) {
	flags := flag.NewFlagSet("attack", flag.ContinueOnError)
	a := &attack{postgres: os.Getenv("TOOLFOLD_TEST_POSTGRES"), size: usual}
	flags.StringVar(&a.store, "store", "sqlite", "sqlite, or postgres at the URL in TOOLFOLD_TEST_POSTGRES")
	lasting := flags.Duration("for", 0, "time for each of fuzz, soak, crowd and terminate, instead of the usual")
	only := flags.String("only", "", "names of measures, separated by commas; empty = all")
	isFull := flags.Bool("full", false, "try as much as a release asks for")
	flags.StringVar(&a.previous, "previous", "", "a toolfold of the version before, for upgrade; empty = the present one")
	foreigners := flags.Int("foreign", 0, "broken servers for foreign, numbered from the seed on; 0 = the usual")
	flags.Uint64Var(&a.seed, "seed", 1, "seed of the random numbers")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *isFull {
		a.size = large
	}
	if *foreigners > 0 {
		a.foreigners = *foreigners
	}
	if *lasting > 0 {
		a.size.fuzz, a.size.soak, a.size.crowd, a.size.terminate = *lasting, *lasting, *lasting, *lasting
		a.limit = max(a.limit, 2**lasting)
	}
	chosen, err := choose(*only)
	if err == nil && (a.store != "sqlite" && a.store != "postgres" || a.store == "postgres" && a.postgres == "") {
		err = fmt.Errorf("-store is sqlite, or postgres with a URL in TOOLFOLD_TEST_POSTGRES")
	}
	if err != nil {
		fmt.Fprintln(out, err)
		return 2
	}
	if a.dir, err = os.MkdirTemp("", "toolfold-attack-"); err == nil {
		defer os.RemoveAll(a.dir)
		err = a.build(ctx)
	}
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	for _, m := range chosen {
		if m.store != "" && m.store != a.store {
			fmt.Fprintf(out, "%-10s %s: only with -store %s\n", m.name, a.store, m.store)
			continue
		}
		if r := a.measure(ctx, m); !r.print(out) {
			exit = 1
		}
	}
	return exit
}

func choose(only string) ([]measure, error) {
	if only == "" {
		return measures, nil
	}
	var chosen []measure
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(measures, func(m measure) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no measure %q", name)
		}
		chosen = append(chosen, measures[i])
	}
	return chosen, nil
}

// build builds the server, with the race detector if this command uses it.
func (a *attack) build(ctx context.Context) error {
	a.binary = filepath.Join(a.dir, "toolfold")
	flags := []string{"-buildvcs=false"}
	if hasRaceDetector() {
		flags = append(flags, "-race")
	}
	return product.Build(ctx, a.binary, flags...)
}

func hasRaceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// measure runs one measure, and returns its report with the time that it took.
func (a *attack) measure(ctx context.Context, m measure) *report {
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	r := &report{name: m.name + " " + a.store, samples: map[string][]string{}, counts: map[string]int{}}
	r.zero(slices.Concat([]string{"panics and races", "unexpected ends"}, faults, m.mustBeZero)...)
	begin := time.Now()
	p, remove, err := a.newPlace(ctx, r)
	if err == nil {
		err = m.run(ctx, p)
		remove()
	}
	if err != nil {
		r.zero("measures given up")
		r.bad("measures given up", "%v", err)
	}
	r.note("%.1f s", time.Since(begin).Seconds())
	return r
}

// report gathers the figures and faults of a measure.
type report struct {
	name string

	mu      sync.Mutex
	tried   []string
	zeros   []string // faults that are printed even if zero, in order
	counts  map[string]int
	samples map[string][]string
	log     []string // errors that the servers logged
	most    int      // samples of each fault; zero = mostSamples
}

const mostSamples = 3

// note adds a figure.
func (r *report) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried = append(r.tried, fmt.Sprintf(format, args...))
}

// zero declares faults that are printed even if their count is zero.
func (r *report) zero(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.zeros = append(r.zeros, names...)
}

// bad counts a fault and stores the first few samples of each name.
func (r *report) bad(name, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[name]++
	if len(r.samples[name]) < cmp.Or(r.most, mostSamples) {
		r.samples[name] = append(r.samples[name], shorten(fmt.Sprintf(format, args...), 1000))
	}
}

// print prints the report and reports whether it has no faults.
func (r *report) print(out io.Writer) (ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ok = true
	fmt.Fprintf(out, "%s: %s\n    must be zero:", r.name, strings.Join(r.tried, ", "))
	for i, name := range r.zeros {
		if i > 0 {
			fmt.Fprint(out, ",")
		}
		fmt.Fprintf(out, " %s %d", name, r.counts[name])
	}
	for name, n := range r.counts {
		if n > 0 && !slices.Contains(r.zeros, name) {
			fmt.Fprintf(out, ", %s %d", name, n)
		}
	}
	fmt.Fprintln(out)
	for name, n := range r.counts {
		ok = ok && n == 0
		for _, sample := range r.samples[name] {
			fmt.Fprintf(out, "    FAILED %s: %s\n", name, sample)
		}
	}
	if !ok {
		for _, line := range r.log {
			fmt.Fprintf(out, "    log: %s\n", line)
		}
	}
	return ok
}

// shorten drops the middle of a long text.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return text[:limit/2] + " … " + text[len(text)-limit/2:]
}
