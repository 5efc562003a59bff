package main

import (
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/toolfoldtest"
)

func TestDeclaration(t *testing.T) { toolfoldtest.Run(t, family) }

func TestExamples(t *testing.T) {
	toolfoldtest.Examples(t, toolfoldtest.Mount(t, family, &service{}))
}

func TestNotes(t *testing.T) {
	talk := toolfoldtest.Over(t, toolfoldtest.Mount(t, family, &service{}))
	talk.Expect("note.list", `{}`, `{"notes":[]}`)
	talk.Expect("note.add", `{"text": "one"}`, `{"notes":["one"]}`)
	talk.Expect("add_note", `{"text": "two"}`, `{"notes":["one","two"]}`)
	talk.Refuse("note.add", `{"text": ""}`, toolfold.InvalidInput, "text", "")
}
