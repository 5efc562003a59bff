package yamledit

import (
	"testing"
)

// Set changes the value, and keeps the other lines.
func TestSet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, value, want string }{
		{"", `1`, "a:\n  b: 1\n"},
		{"# mine", `1`, "# mine\na:\n  b: 1"},
		{"z: 1", `1`, "z: 1\na:\n  b: 1"},
		{"a:\nz: 1\n", `[1]`, "a:\n  b:\n  - 1\nz: 1\n"},
		{"a: {} # none\n", `1`, "a: # none\n  b: 1\n"},
		{"a: ~\n", `1`, "a:\n  b: 1\n"},
		{"a:\n    c: 1 # one\n\n# of z\nz: 1\n", `{"d":"x"}`, "a:\n    c: 1 # one\n    b:\n      d: x\n\n# of z\nz: 1\n"},
		{"a:\n  c:\n  - 1\n  # deeper\n", `1`, "a:\n  c:\n  - 1\n  b: 1\n  # deeper\n"},
		{"a:\n  b: 2 # two\n  c: 1\n", `1`, "a:\n  b: 1 # two\n  c: 1\n"},
		{"a:\n  b:\n    x: |\n      1\n\n      2\n  c: 1\n", `[]`, "a:\n  b: []\n  c: 1\n"},
		{"\"a\":\r\n  c: 1\r\n", `"true"`, "\"a\":\r\n  c: 1\r\n  b: \"true\"\r\n"},
		{"a:\n  b: 1.0\n", `1.0`, "a:\n  b: 1.0\n"},
	} {
		got, err := Set([]byte(test.text), []byte(test.value), "a", "b")
		if string(got) != test.want || err != nil {
			t.Errorf("%q became\n%q, want\n%q, %v", test.text, got, test.want, err)
		}
	}
}

// Remove removes the key, and keeps the other lines.
func TestRemove(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                       "",
		"a: 1\n":                                 "a: 1\n",
		"a:\n  b: 1\nz: 1\n":                     "a: {}\nz: 1\n",
		"a: # mine\n  b: 1":                      "a: {} # mine",
		"a:\n  # of b\n  b: [1,\n    2]\n  c: 1": "a:\n  # of b\n  c: 1",
		"a:\n  c: 1\n  b:\n  - 1\n\n  # after\n": "a:\n  c: 1\n\n  # after\n",
	} {
		if got, err := Remove([]byte(text), "a", "b"); string(got) != want || err != nil {
			t.Errorf("%q became\n%q, want\n%q, %v", text, got, want, err)
		}
	}
}

// A layout that cannot be edited by lines is rejected, and so is invalid YAML.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a: {c: 1}\n", "{a: {c: 1}}\n", "a: 1\n", "- 1\n", "a: [\n", "a:\n  b: 1\n  b: 2\n", "a: 1\n---\na: 2\n",
		"a: &x\n  c: 1\nz: *x\n", "a:\n  <<: {c: 1}\n", "a:\n\tb: 1\n", "x: &x [1]\na: *x\n",
	} {
		if got, err := Set([]byte(text), []byte(`1`), "a", "b"); err == nil {
			t.Errorf("%q became\n%s", text, got)
		}
	}
}

// Values are returned as JSON, with their keys in order.
func TestGet(t *testing.T) {
	t.Parallel()
	text := []byte("z: &x {b: 1, a: [yes, 'no', 1.50, ~]}\na: *x\n")
	for _, test := range []struct {
		path []string
		want string
	}{
		{nil, `{"z":{"b":1,"a":["yes","no",1.50,null]},"a":{"b":1,"a":["yes","no",1.50,null]}}`},
		{[]string{"z", "b"}, `1`}, {[]string{"z", "c"}, ""}, {[]string{"z", "b", "c"}, ""}, {[]string{"q"}, ""},
	} {
		if got, err := Get(text, test.path...); string(got) != test.want || err != nil {
			t.Errorf("%q is %s, %v", test.path, got, err)
		}
	}
	if _, err := JSON([]byte("a: &a [*a]\n")); err == nil {
		t.Error("a value inside itself has an end")
	}
}

// A removed key comes back as written, even if other keys changed meanwhile.
func TestTakeAndGive(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a:\n  # of b\n  # and c\n  b: # mine\n    x: 1 # one\n\n    y: [1, 2]\n  c: 1\n",
		"a:\n    c: 1\n    b:\n    - 1\n    d: {}\nz: 1\n",
		"a:\r\n  c: 1\r\n  b: 1",
		"a:\n  b: 1\n",
	} {
		rest, taken, err := Take([]byte(text), "a", "b")
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		back, err := Give(rest, taken, "a")
		if string(back) != text || err != nil {
			t.Errorf("%q became\n%q, then\n%q, %v", text, rest, back, err)
		}
		if _, err := Give([]byte(text), taken, "a"); err == nil {
			t.Errorf("%q has b twice", text)
		}
		other := []byte("a: {}\n")
		if got, err := Give(other, taken, "a"); err != nil {
			t.Errorf("into %q: %v", other, err)
		} else if again, _, err := Take(got, "a", "b"); string(again) != "a: {}\n" || err != nil {
			t.Errorf("%q became %q, %v", got, again, err)
		}
	}
	if _, _, err := Take([]byte("a:\n  c: 1\n"), "a", "b"); err == nil {
		t.Error("a key that is not there is taken out")
	}
}
