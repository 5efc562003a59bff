//go:build !unix

package jq

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
