package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/run/script/js"
)

// Step is a call in the journal of a run, for people who look at it.
type Step struct {
	Call    int
	Ended   bool      // else it is under way, or was cut off
	Settled bool      // somebody stated that it was done; Name and At are not known
	Name    string    // as the script called it
	At      time.Time // when the script got the answer
	Did     bool      // it may have changed something, although it failed
	Error   string    // its code and message; empty = no error
	Value   string    // JSON, which ends where the record was cut
}

// LookBytes are the bytes of a record that [Look] needs.
const LookBytes = 800

// Look returns the call that a record in the journal of a run has, of which only the first [LookBytes] may
// be known. A nil record is that of a call without an end. It is false for records of other things.
func Look(path string, record []byte) (s Step, ok bool) {
	number, err := strconv.Atoi(strings.TrimPrefix(path, "/"))
	if err != nil || number < 1 {
		return s, false
	}
	s.Call, s.Ended = number, record != nil
	decoder := json.NewDecoder(bytes.NewReader(record))
	var raw json.RawMessage
	for _, err = decoder.Token(); err == nil && decoder.More(); { // the members before the cut
		var key json.Token
		if key, err = decoder.Token(); err != nil {
			break
		}
		from := decoder.InputOffset() + 1
		if err = decoder.Decode(&raw); err != nil {
			raw = record[min(from, int64(len(record))):]
		}
		s.set(key, raw)
	}
	return s, true
}

// set sets what a member of a record has. A value that was cut is no JSON.
func (s *Step) set(name json.Token, value json.RawMessage) {
	switch name {
	case "name":
		_ = json.Unmarshal(value, &s.Name)
	case "now":
		var milliseconds int64
		if json.Unmarshal(value, &milliseconds) == nil {
			s.At = time.UnixMilli(milliseconds)
		}
	case "did":
		s.Did = string(value) == "true"
	case "settled":
		s.Settled = string(value) == "true"
	case "value":
		s.Value = strings.ToValidUTF8(string(value), "")
	case "error":
		var failed js.ToolError
		if s.Error = strings.ToValidUTF8(string(value), ""); json.Unmarshal(value, &failed) == nil {
			s.Error = failed.Code + ": " + failed.Message
		}
	}
}

// Place is a line of a script that calls an action.
type Place struct {
	Line int // from 1
	args []js.Argument
}

// May reports whether a call with some arguments may be one of this place: none of the arguments in the text
// differs. Arguments of nil, and those that were shortened to a text, may be of any place.
func (p Place) May(arguments json.RawMessage) bool {
	var called map[string]any
	if json.Unmarshal(arguments, &called) != nil {
		return true
	}
	return !slices.ContainsFunc(p.args, func(a js.Argument) bool {
		var literal any
		return a.Value != nil && json.Unmarshal(a.Value, &literal) == nil && !reflect.DeepEqual(literal, called[a.Name])
	})
}

// Places returns the places of a script that call each action and script of the header of its journal. Calls by
// names that only the run knows are left out. A header of nil is that of a run that has not begun.
func Places(source string, headerRecord []byte) (places map[string][]Place, err error) {
	var h header
	if headerRecord != nil {
		if err := json.Unmarshal(headerRecord, &h); err != nil {
			return nil, fmt.Errorf("reading the header of a run: %w", err)
		}
	}
	references, err := js.Calls(source)
	if err != nil {
		return nil, nil // the engine may run it all the same
	}
	nameOf := js.Names(slices.Concat(h.Names, h.Stored))
	places = map[string][]Place{}
	for _, r := range references {
		if name, ok := nameOf(r); ok {
			places[name] = append(places[name], Place{r.Line, r.Args})
		}
	}
	return places, nil
}
