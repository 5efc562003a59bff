//go:build !unix

package engine

import "os/exec"

// runGroup runs a command. Only the process itself ends with the context:
// there are no process groups here.
func runGroup(cmd *exec.Cmd) error { return cmd.Run() }
