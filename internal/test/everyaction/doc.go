// Package everyaction holds the tests that go over every action of every family, so
// that a new action is tested without a line of test of its own: all surfaces answer
// alike, legacy calls migrate there and back, errors mend calls, rights, hints and
// cursors hold, results are as declared, and hostile arguments are cheap. Tests of one
// mechanism, with examples chosen for it, are in the package of the mechanism.
package everyaction
