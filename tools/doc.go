// Package tools is the language in which toolfold's tools are declared.
//
// A [Family] is a noun with a vocabulary of fields and a list of actions. Every
// name, type, bound, default and text is written once, in that literal; the
// consolidated tool, the legacy tools, validation, errors, describe, search,
// the migration guide, the docs and the token counts are computed from it.
//
// [Family.Spec] turns the typed literal into plain data ([Spec], [Action]).
// An [Entry] is one way to call an action: under its family's name with an
// action argument, under an old name, or under its full name. A [Registry]
// runs calls: normalise, validate, permit, run, project.
//
// Declarations never open anything: a family's service is built by the first
// call that needs it.
package tools
