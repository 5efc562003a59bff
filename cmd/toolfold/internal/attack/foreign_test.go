package main

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if isForeign() {
		return
	}
	os.Exit(m.Run())
}
