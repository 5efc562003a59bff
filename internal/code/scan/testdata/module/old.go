package faulty

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
)

func anything(v interface{}) interface{} { return v } // want modernize/any modernize/any

func counts(n int) (total int) {
	for i := 0; i < n; i++ { // want modernize/rangeint
		total += i
	}
	return total
}

func sorted(list []string) {
	sort.Slice(list, func(i, j int) bool { return list[i] < list[j] }) // want modernize/slicessort
}

func contains(list []string, s string) bool {
	for _, have := range list { // want modernize/slicescontains
		if have == s {
			return true
		}
	}
	return false
}

func parts(s string) {
	for _, part := range strings.Split(s, ",") { // want modernize/stringsseq
		fmt.Println(part)
	}
}

func most(a, b int) int {
	x := a
	if a < b { // want modernize/minmax
		x = b
	}
	return x
}

func group(f func()) {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { // want modernize/waitgroupgo
		defer wg.Done()
		f()
	}()
	wg.Wait()
}

func truth(b bool) bool {
	if b == true { // want staticcheck/S1002
		return true
	}
	return strings.Index("abc", "b") != -1 // want staticcheck/S1003
}

func since(t time.Time) time.Duration {
	return time.Now().Sub(t) // want staticcheck/S1012
}

func texts(s string) string {
	var out string                            // want staticcheck/S1021
	out = fmt.Sprintf("%s", s)                // want staticcheck/S1025
	return strings.Replace(out, "a", "b", -1) // want staticcheck/QF1004
}

func choices(n int) string {
	switch { // want staticcheck/QF1002
	case n == 1:
		return "one"
	case n == 2:
		return "two"
	}
	return "many"
}

func spaces(text string) (n int) {
	for _, c := range text {
		if c == ' ' { // want staticcheck/QF1003
			n++
		} else if c == '\t' {
			n += 4
		} else {
			break // of the loop, and not of a switch
		}
	}
	return n
}

//go:fix inline
func older(n int) int { return newer(n, 1) }

func newer(n, m int) int { return n + m }

func caller() int { return older(3) } // want vet/inline

func bad_name() {} // want staticcheck/ST1003
