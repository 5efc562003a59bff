package child

import (
	"io"
	"os"
	"os/exec"
)

// Worker is a second process of this program's executable. A package that has workers recognizes
// them in an init function, by their only argument. A worker ends itself when its input ends, and
// starts no other process, so it needs no keeper; on Linux the system also kills it with this
// process.
type Worker struct {
	In    io.WriteCloser
	Out   io.ReadCloser
	Ended chan struct{} // closed after the end of the process

	command *exec.Cmd
}

// StartWorker starts a worker in its own process group and in the root folder. Its environment is
// env alone. Its errors go to errs; nil discards them.
func StartWorker(argument string, env []string, errs io.Writer) (*Worker, error) {
	self, err := Executable()
	if err != nil {
		return nil, err
	}
	out, writer, err := os.Pipe() // unlike StdoutPipe, Wait does not close it before its last bytes are read
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	w := &Worker{Out: out, Ended: make(chan struct{}), command: exec.Command(self, argument)}
	w.command.Stdout, w.command.Stderr, w.command.Dir = writer, errs, "/"
	w.command.Env, w.command.SysProcAttr = append([]string{}, env...), apart()
	if w.In, err = w.command.StdinPipe(); err == nil {
		err = w.command.Start()
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	go func() {
		defer close(w.Ended)
		_ = w.command.Wait()
	}()
	return w, nil
}

// Kill kills the process and does not wait for its end.
func (w *Worker) Kill() { _ = w.command.Process.Kill() }

// End kills the process, waits for its end, and closes the pipes.
func (w *Worker) End() {
	w.In.Close()
	w.Kill()
	<-w.Ended
	w.Out.Close()
}

// State returns how the process ended. It must have ended.
func (w *Worker) State() *os.ProcessState { return w.command.ProcessState }

// Process returns the process, for its id.
func (w *Worker) Process() *os.Process { return w.command.Process }
