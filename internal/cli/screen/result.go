package screen

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Result prints a JSON value. A list of objects is a table. An object has one row for each member,
// followed by tables for its lists of objects. Columns that do not fit are named at the end.
func (s Screen) Result(value json.RawMessage) error {
	if rows, ok := objects(value); ok {
		return s.list(rows)
	}
	var members ordered.Map
	if json.Unmarshal(value, &members) != nil {
		_, err := fmt.Fprintln(s.Out, string(escape([]byte(cell(value)))))
		return err
	}
	var plain [][]string
	var lists ordered.Map
	for _, m := range members {
		raw := m.Value.(json.RawMessage)
		if rows, ok := objects(raw); ok {
			lists.Set(m.Key, rows)
		} else {
			plain = append(plain, []string{m.Key, cell(raw)})
		}
	}
	if err := s.pairs(plain); err != nil {
		return err
	}
	for i, m := range lists {
		if len(plain) > 0 || i > 0 {
			fmt.Fprintln(s.Out)
		}
		if len(lists) > 1 {
			fmt.Fprintln(s.Out, oneLine(m.Key))
		}
		if err := s.list(m.Value.([]ordered.Map)); err != nil {
			return err
		}
	}
	return nil
}

// pairs prints names with whole values. Further lines of a value are indented below the first.
func (s Screen) pairs(rows [][]string) error {
	width := 0
	for _, row := range rows {
		width = max(width, runewidth.StringWidth(oneLine(row[0])))
	}
	for _, row := range rows {
		name := oneLine(row[0])
		blanks := strings.Repeat(" ", width-runewidth.StringWidth(name)+gap)
		value := strings.ReplaceAll(strings.TrimRight(row[1], "\n"), "\n", "\n"+strings.Repeat(" ", width+gap))
		if _, err := fmt.Fprintf(s.Out, "%s%s%s\n", s.paint(bold, name), blanks,
			s.paint(stateColors[strings.ToLower(value)], string(escape([]byte(value))))); err != nil {
			return err
		}
	}
	return nil
}

// list prints objects as a table. Its columns are their members, in the order of first appearance.
func (s Screen) list(rows []ordered.Map) error {
	var columns ordered.Map // by name, whether all values are numbers
	for _, row := range rows {
		for _, m := range row {
			_, err := strconv.ParseFloat(string(m.Value.(json.RawMessage)), 64)
			numbers, seen := columns.Get(m.Key)
			columns.Set(m.Key, err == nil && (!seen || numbers.(bool)))
		}
	}
	t := Table{Header: columns.Keys()}
	for _, column := range columns {
		if column.Value.(bool) {
			t.Right = append(t.Right, column.Key)
		}
	}
	for _, row := range rows {
		cells := make([]string, len(columns))
		for i, column := range t.Header {
			if value, ok := row.Get(column); ok {
				cells[i] = cell(value.(json.RawMessage))
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	leftOut, err := s.Table(t)
	if err == nil && len(leftOut) > 0 {
		_, err = fmt.Fprintf(s.Out, "not shown for want of columns: %s; --output json has all\n", strings.Join(leftOut, ", "))
	}
	return err
}

// objects returns the objects of a non-empty list of only objects.
func objects(value json.RawMessage) (rows []ordered.Map, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil || len(list) == 0 {
		return nil, false
	}
	for _, raw := range list {
		var row ordered.Map
		if string(raw) == "null" || json.Unmarshal(raw, &row) != nil {
			return nil, false
		}
		rows = append(rows, row)
	}
	return rows, true
}

// cell returns a value for a table: strings without quotes, other values as JSON.
func cell(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		return text
	}
	return string(value)
}
