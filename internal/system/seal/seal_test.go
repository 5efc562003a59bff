package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
)

func keyOf(first byte) string {
	key := bytes.Repeat([]byte{7}, keySize)
	key[0] = first
	return base64.StdEncoding.EncodeToString(key)
}

func keys(t *testing.T, texts ...string) *Keys {
	t.Helper()
	k, err := ParseKeys(texts)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A text is opened at its place with its key, also once another key is active, and in no other way.
func TestSealed(t *testing.T) {
	old, both, other := keys(t, keyOf(1)), keys(t, keyOf(2)+"\n", keyOf(1)), keys(t, keyOf(3))
	id, sealed := old.Seal([]byte("secret"), "a b")
	if again := slices.Collect(func(yield func([]byte) bool) {
		for range 2 {
			_, s := old.Seal([]byte("secret"), "a b")
			if !yield(s) {
				return
			}
		}
	}); bytes.Equal(again[0], again[1]) || bytes.Contains(sealed, []byte("secret")) {
		t.Error("what is sealed twice is the same, or readable")
	}
	for _, k := range []*Keys{old, both} {
		if text, err := k.Open(id, sealed, "a b"); err != nil || string(text) != "secret" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if both.Active() == id {
		t.Error("the first key is not active")
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, c := range map[string]struct {
		keys   *Keys
		id     string
		sealed []byte
		place  string
		want   error
	}{
		"another place":  {old, id, sealed, "a", ErrChanged},
		"changed":        {old, id, changed, "a b", ErrChanged},
		"cut":            {old, id, sealed[:len(sealed)-1], "a b", ErrChanged},
		"cut to a nonce": {old, id, sealed[:5], "a b", ErrChanged},
		"empty":          {old, id, nil, "a b", ErrChanged},
		"another key":    {both, both.Active(), sealed, "a b", ErrChanged},
		"unknown key":    {other, id, sealed, "a b", ErrUnknownKey},
	} {
		text, err := c.keys.Open(c.id, c.sealed, c.place)
		if text != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.id) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// Errors of keys say which is wrong and how to make one, and do not quote it.
func TestInvalidKeys(t *testing.T) {
	short := base64.StdEncoding.EncodeToString([]byte("secret of few bytes"))
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{nil, "there is no key"},
		{[]string{""}, "key 1 has 0 bytes"},
		{[]string{keyOf(1), short}, "key 2 has 19 bytes, not 32"},
		{[]string{"not base64!"}, "key 1 is not base64"},
		{[]string{base64.StdEncoding.EncodeToString(make([]byte, keySize))}, "key 1 repeats one byte"},
		{[]string{keyOf(1), keyOf(2), keyOf(1)}, "key 3 is there twice"},
	} {
		_, err := ParseKeys(c.texts)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), short) {
			t.Errorf("%v, not %s", err, c.want)
		}
	}
}
