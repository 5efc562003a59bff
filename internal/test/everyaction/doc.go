// Package everyaction tests every action of every family, so that a new action needs no test of its
// own for these properties: all surfaces return the same, legacy calls migrate in both directions,
// errors are enough to correct calls, rights, hints and cursors hold, results are as declared, and
// hostile arguments are cheap. Tests of a single mechanism are in its package.
package everyaction
