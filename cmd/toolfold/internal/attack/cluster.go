package main

import (
	"cmp"
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

// restart restarts the PostgreSQL of a server under load, a cluster of its own: in
// turns as its operator does and as a crash does.
func restart(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	database, err := newCluster(ctx)
	if err != nil {
		return err
	}
	defer database.close()
	p.store = database.url
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
		l.await(ctx, l.total()+20) // it serves
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

// cluster is a running PostgreSQL on a port and in a folder of its own.
type cluster struct {
	dir, tools, url string
}

// newCluster starts a cluster. PostgreSQL does not run as root: for that user it runs
// as postgres, which its packages create.
func newCluster(ctx context.Context) (*cluster, error) {
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
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	free.Close()
	c.url = "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"
	err = c.run(ctx, "initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", "-D", c.data())
	if err == nil {
		err = c.control(ctx, "-o", "-p "+port+" -k "+c.dir+" -c listen_addresses=127.0.0.1", "start")
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// control runs pg_ctl and waits until that is done.
func (c *cluster) control(ctx context.Context, args ...string) error {
	return c.run(ctx, "pg_ctl", append([]string{"-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-w"}, args...)...)
}

// run runs a program of PostgreSQL. Its output goes to a file: the server that it
// starts keeps it open.
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
		said, _ := os.ReadFile(output.Name())
		return fmt.Errorf("%s %s: %w: %s", tool, args[len(args)-1], err, shorten(string(said), 1000))
	}
	return nil
}

// close stops the cluster and removes its folder.
func (c *cluster) close() {
	_ = c.control(context.Background(), "-m", "immediate", "stop") // it may not run
	_ = os.RemoveAll(c.dir)
}

// postgresTools returns the folder of initdb and pg_ctl, which Debian keeps out of
// the path.
func postgresTools() (string, error) {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	found, _ := exec.LookPath("initdb")
	slices.Sort(folders)
	if len(folders) > 0 {
		found = cmp.Or(found, folders[len(folders)-1])
	}
	if found == "" {
		return "", fmt.Errorf("initdb is neither in the path nor below /usr/lib/postgresql: install PostgreSQL's server")
	}
	return filepath.Dir(found), nil
}

// giveTo makes a file that of another user.
func giveTo(name, path string) error {
	owner, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(owner.Uid) // numbers, where root has number 0
	gid, _ := strconv.Atoi(owner.Gid)
	return os.Chown(path, uid, gid)
}
