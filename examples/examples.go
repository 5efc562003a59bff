// Package examples holds the files of the server that the command new writes.
package examples

import "embed"

// Notes holds the folder notes: a program, its test and the golden file of its family.
//
//go:embed notes/main.go notes/main_test.go notes/testdata/note.txtar
var Notes embed.FS
