package page

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/tools/config"
)

// machine reads the settings and the records of the servers of this machine. It starts no server. It
// counts again only after one of their files, or of the records that servers share, has changed.
type machine struct {
	open  func() (*settings.Options, *gateway.Gateway, error)
	files func() (string, error) // describes the files and shared records that open reads: a change of one changes it

	mu      sync.Mutex
	stamp   string // of the files that the others were read from
	state   *state // nil before the first use
	options *settings.Options
	gateway *gateway.Gateway
}

// state has the servers and the cost of the lists that clients get.
type state struct {
	Served   doctor.SurfaceCost
	Sets     []doctor.SurfaceCost // one for each set, sorted by name
	Servers  []server             // sorted by name
	Settings []settings.Setting
	LeftOut  []string // entries of the workspace's file that do not apply, with the reasons
}

// The states of a server.
const (
	stateOff     = "off"
	stateFails   = "fails"
	stateUnknown = "not listed yet"
	stateReady   = "ready"
)

// server is one server of the settings.
type server struct {
	Name      string
	State     string
	Problem   string // why it fails or offers nothing; empty if it works
	Shared    bool   // sessions share its process
	LogsIn    bool   // users can log in there
	Protocol  string // revision of MCP of its last list; empty = unknown
	Raw       doctor.Cost
	Folded    doctor.Cost
	HeldTools []gateway.HeldTool
	Families  []*toolfold.Family
}

// Undecided lists the held tools that the user has not rejected.
func (s server) Undecided() []gateway.HeldTool {
	return slices.DeleteFunc(slices.Clone(s.HeldTools), func(h gateway.HeldTool) bool { return h.Rejected })
}

// WantsLogin reports whether the server fails because the user has to log in.
func (s server) WantsLogin() bool { return s.LogsIn && servers.WantsLogin(s.Problem) }

// use calls do with the present state and the gateway that it was read from, one call at a time.
func (m *machine) use(do func(*state, *settings.Options, *gateway.Gateway) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	stamp, err := m.files()
	if err != nil {
		return err
	}
	if m.state == nil || stamp != m.stamp {
		m.close()
		if m.options, m.gateway, err = m.open(); err != nil {
			return err
		}
		if m.state, err = stateOf(m.options, m.gateway); err != nil {
			return err
		}
		m.stamp = stamp
	}
	return do(m.state, m.options, m.gateway)
}

// close ends the use of the files. The next use opens them again.
func (m *machine) close() {
	if m.gateway != nil {
		m.gateway.Close()
	}
	m.state, m.gateway = nil, nil
}

// read returns the present state, which never changes.
func (m *machine) read() (now *state, err error) {
	err = m.use(func(s *state, _ *settings.Options, _ *gateway.Gateway) error {
		now = s
		return nil
	})
	return now, err
}

// stateOf reads the servers, and counts the lists.
func stateOf(o *settings.Options, g *gateway.Gateway) (now *state, err error) {
	now = &state{Settings: o.List()}
	if now.Served, err = servers.SurfaceCost(o, g); err != nil {
		return nil, err
	}
	for _, entry := range o.Layers.Ignored {
		if entry.Scope == config.Local {
			now.LeftOut = append(now.LeftOut, entry.Text())
		}
	}
	names := slices.Sorted(maps.Keys(o.Upstreams))
	for _, name := range names {
		s, err := serverOf(o, g, name)
		if err != nil {
			return nil, fmt.Errorf("upstream %s: %w", name, err)
		}
		now.Servers = append(now.Servers, s)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Sets)) {
		set := *o
		set.Set = name
		if _, err := set.Choose(names); err != nil {
			return nil, err
		}
		served, err := servers.SurfaceCost(&set, g)
		if err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
		now.Sets = append(now.Sets, served)
	}
	return now, nil
}

// serverOf reads one server.
func serverOf(o *settings.Options, g *gateway.Gateway, name string) (s server, err error) {
	answer, families, known := g.Listing(name)
	s = server{Name: name, State: stateReady, Problem: cmp.Or(g.Failures()[name], g.Trouble()[name]), Families: families,
		Shared: servers.Unshared(o, name) == nil}
	_, unable := servers.ForLogin(o, name)
	s.LogsIn = unable == nil
	switch {
	case o.Upstreams[name].Disabled:
		s.State = stateOff
	case g.Failures()[name] != "":
		s.State = stateFails
	case !known:
		s.State = stateUnknown
	}
	if !known {
		return s, nil
	}
	s.Protocol = answer.Protocol
	if s.HeldTools, err = g.HeldTools(name); err != nil {
		return s, err
	}
	s.Raw, s.Folded, err = servers.Costs(answer, o.Rights(true).Filter(families), o)
	return s, err
}

// newMachine returns the machine for the options of a command, with the records that servers share; nil = none.
func newMachine(c *cli.Context, records gateway.Records) *machine {
	paths, err := settings.FilesOf(c) // reads all flags and variables, which do not change
	return &machine{
		open: func() (*settings.Options, *gateway.Gateway, error) {
			return servers.OpenGatewayOn(records, c, c.String(settings.UpstreamsFlag.Name))
		},
		files: func() (string, error) {
			if err != nil {
				return "", err
			}
			files, err := describeFiles(paths, c.String(settings.UpstreamsFlag.Name))
			return files + describeRecords(c.Context, records), err
		},
	}
}

// recordsWithin limits the time of looking for changed records in the store.
const recordsWithin = 2 * time.Second

// describeRecords describes the records in the store by their versions. A store that does not answer has none.
func describeRecords(ctx context.Context, records gateway.Records) string {
	if records == nil {
		return ""
	}
	ctx, done := context.WithTimeout(ctx, recordsWithin)
	defer done()
	var lines []string
	_ = records.Versions(ctx, func(server, source string, version int64) { // the gateway logs the error
		lines = append(lines, fmt.Sprintln(server, source, version))
	})
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// describeFiles describes the settings files, a client's file of upstreams and the records of servers, by size and time.
// No file has the empty name.
func describeFiles(files config.Files, upstreams string) (string, error) {
	trusted, err := settings.TrustFile()
	if err != nil {
		return "", err
	}
	dir, err := servers.Records()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	describe := func(path string) {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
		}
	}
	describe(files.Global)
	describe(filepath.Join(files.Workspace, config.LocalFile))
	describe(trusted)
	describe(upstreams)
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) != ".log" { // servers write into their logs all the time
			describe(path)
		}
		return nil
	})
	return b.String(), err
}
