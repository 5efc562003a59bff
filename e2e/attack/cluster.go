package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// restart restarts the PostgreSQL of a server under load, a separate cluster. Clean stops and
// crashes alternate.
func restart(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	database, err := newCluster(ctx)
	if err != nil {
		return err
	}
	defer database.close()
	p.store = database.url()
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	defer s.stop() // before its database
	l, c := &ledger{}, s.client()
	loading, stop := context.WithTimeout(ctx, a.size.terminate+time.Minute)
	defer stop()
	var load sync.WaitGroup
	load.Go(func() { l.load(loading, r, c, "r") })
	modes := []string{"fast", "immediate"}
	times := 0
	for begin := time.Now(); (times < len(modes) || time.Since(begin) < a.size.terminate) && loading.Err() == nil; times++ {
		l.await(ctx, l.total()+20) // the server works
		if err := database.control(ctx, "-m", modes[times%len(modes)], "restart"); err != nil {
			return err
		}
	}
	before := l.total()
	l.await(ctx, before+20)
	stop()
	load.Wait()
	if l.total() < before+20 {
		return fmt.Errorf("%d writes acknowledged after the last restart, want 20", l.total()-before)
	}
	l.verify(ctx, r, c, true)
	// A task may fail like any call while the store is gone.
	r.note("%d restarts, every other one a crash, %v, %d tasks failed", times, l, l.settle(ctx, r, c))
	return nil
}

// failover crashes the PostgreSQL of a server under load and promotes its standby. Acknowledged
// writes are on both, so none may be lost.
func failover(ctx context.Context, p *place) error {
	r := p.report
	primary, err := newCluster(ctx)
	if err != nil {
		return err
	}
	defer primary.close()
	standby, err := primary.standby(ctx)
	if err != nil {
		return err
	}
	defer standby.close()
	p.store = fmt.Sprintf("postgres://postgres@127.0.0.1:%s,127.0.0.1:%s/postgres?sslmode=disable&target_session_attrs=read-write",
		primary.port, standby.port)
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	defer s.stop() // before its database
	l, c := &ledger{}, s.client()
	loading, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	var load sync.WaitGroup
	load.Go(func() { l.load(loading, r, c, "f") })
	l.await(ctx, 50)
	if err := primary.control(ctx, "-m", "immediate", "stop"); err != nil {
		return err
	}
	if err := standby.control(ctx, "promote"); err != nil {
		return err
	}
	before := l.total()
	l.await(loading, before+50)
	stop()
	load.Wait()
	if l.total() < before+50 {
		return fmt.Errorf("%d writes acknowledged by the former standby, want 50", l.total()-before)
	}
	l.verify(ctx, r, c, true)
	r.note("%v, %d tasks failed", l, l.settle(ctx, r, c))
	return nil
}

// cluster is a running PostgreSQL with its own port and folder.
type cluster struct {
	dir, tools, port string
}

// newCluster starts a cluster. PostgreSQL refuses to run as root: root starts it as the user
// postgres, which its packages create.
func newCluster(ctx context.Context) (*cluster, error) {
	return startCluster(ctx, func(c *cluster) error {
		return c.run(ctx, "initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", "-D", c.data())
	})
}

// standby starts a copy that follows the cluster. From then on the cluster acknowledges a write
// only after the copy has it.
func (c *cluster) standby(ctx context.Context) (*cluster, error) {
	follows, err := startCluster(ctx, func(s *cluster) error {
		return s.run(ctx, "pg_basebackup", "-d", c.url(), "-D", s.data(), "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	})
	if err != nil {
		return nil, err
	}
	err = c.run(ctx, "psql", "-d", c.url(), "-qc", "ALTER SYSTEM SET synchronous_standby_names = '*'")
	if err == nil {
		err = c.control(ctx, "reload")
	}
	if err != nil {
		follows.close()
		return nil, err
	}
	return follows, nil
}

// startCluster starts a cluster from the files that fill puts into its folder.
func startCluster(ctx context.Context, fill func(*cluster) error) (*cluster, error) {
	tools, err := postgresTools()
	if err != nil {
		return nil, err
	}
	c := &cluster{tools: tools}
	if c.dir, err = os.MkdirTemp("", "toolfold-cluster-"); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		if err := giveTo("postgres", c.dir); err != nil {
			os.RemoveAll(c.dir)
			return nil, err
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.RemoveAll(c.dir)
		return nil, err
	}
	c.port = strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	free.Close()
	if err = fill(c); err == nil {
		err = c.control(ctx, "-o", "-p "+c.port+" -k "+c.dir+" -c listen_addresses=127.0.0.1", "start")
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *cluster) url() string {
	return "postgres://postgres@127.0.0.1:" + c.port + "/postgres?sslmode=disable"
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// control runs pg_ctl and waits for it.
func (c *cluster) control(ctx context.Context, args ...string) error {
	return c.run(ctx, "pg_ctl", append([]string{"-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-w"}, args...)...)
}

// run runs a PostgreSQL program. Its output goes to a file: the server that it starts keeps the
// output open.
func (c *cluster) run(ctx context.Context, tool string, args ...string) error {
	argv := append([]string{filepath.Join(c.tools, tool)}, args...)
	if os.Geteuid() == 0 {
		argv = append([]string{"runuser", "-u", "postgres", "--"}, argv...)
	}
	output, err := os.Create(filepath.Join(c.dir, "output"))
	if err != nil {
		return err
	}
	defer output.Close()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, output, output
	if err := cmd.Run(); err != nil {
		output, _ := os.ReadFile(output.Name())
		return fmt.Errorf("%s %s: %w: %s", tool, args[len(args)-1], err, shorten(string(output), 1000))
	}
	return nil
}

// close stops the cluster and removes its folder.
func (c *cluster) close() {
	_ = c.control(context.Background(), "-m", "immediate", "stop") // it may not run
	_ = os.RemoveAll(c.dir)
}

// postgresTools returns the folder of PostgreSQL's programs: Debian links only some of them into
// the path.
func postgresTools() (string, error) {
	found, _ := exec.LookPath("initdb")
	if folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(folders) > 0 {
		found = slices.Max(folders)
	}
	if found == "" {
		return "", fmt.Errorf("initdb is neither in the path nor below /usr/lib/postgresql: install PostgreSQL's server")
	}
	return filepath.Dir(found), nil
}

// giveTo makes another user the owner of a file.
func giveTo(name, path string) error {
	owner, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(owner.Uid) // numeric on systems where root is 0
	gid, _ := strconv.Atoi(owner.Gid)
	return os.Chown(path, uid, gid)
}
