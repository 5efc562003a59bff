// Package toolfold is the language in which tools are declared.
//
// A [Family] is a noun with a vocabulary of fields and a list of actions, in
// one literal that a person can read from top to bottom. Every name, type,
// bound, default and text is written once, there; the consolidated tool, the
// legacy tools, validation, errors, describe, search, the migration guide, the
// docs and the token counts are computed from it. Parameters stand in the
// literal, which is the contract that a reviewer reads, and [Validate] compares
// them with the Go struct that gets them; results are declared by their struct.
//
// [Mount] binds a family to the service whose methods its actions run. Nothing
// is opened before a call needs it. An [Entry] is one way to call an action:
// under its family's name with an action argument, under an old name, or under
// its full name. Package call runs calls; package surface puts a whole server
// together.
package toolfold
