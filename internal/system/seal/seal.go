// Package seal encrypts data for stores whose readers must not see it, with keys that are elsewhere.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// keySize is the size of a key, in bytes.
const keySize = 32

// NewKey is the command that prints a new key.
const NewKey = "openssl rand -base64 32"

// Keys encrypt with AES-256-GCM. Nonces are random, so a key is good for 2^32 encryptions. Keys are safe for concurrent use.
type Keys struct {
	active string // id of the key that encrypts
	byID   map[string]cipher.AEAD
}

// ParseKeys returns keys from their texts: 32 bytes each, in base64. The first key encrypts; all of them decrypt. Errors
// name a key by its place, from 1, and never quote it.
func ParseKeys(texts []string) (*Keys, error) {
	if len(texts) == 0 {
		return nil, fmt.Errorf("there is no key: make one with %s", NewKey)
	}
	k := &Keys{byID: map[string]cipher.AEAD{}}
	for i, text := range texts {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		switch {
		case err != nil:
			return nil, fmt.Errorf("key %d is not base64: make one with %s", i+1, NewKey)
		case len(key) != keySize:
			return nil, fmt.Errorf("key %d has %d bytes, not %d: make one with %s", i+1, len(key), keySize, NewKey)
		case slices.Max(key) == slices.Min(key):
			return nil, fmt.Errorf("key %d repeats one byte: make one with %s", i+1, NewKey)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		id := idOf(key)
		if k.byID[id] != nil {
			return nil, fmt.Errorf("key %d is there twice", i+1)
		}
		if k.byID[id], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, err
		}
		if i == 0 {
			k.active = id
		}
	}
	return k, nil
}

// idOf returns the id of a key, which reveals nothing of it.
func idOf(key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("toolfold: id of a key"))
	return hex.EncodeToString(mac.Sum(nil)[:4])
}

// Active returns the id of the key that encrypts.
func (k *Keys) Active() string { return k.active }

// Seal encrypts a text with the active key. Only the same place opens it again: what the text belongs to, such as the
// key of its row.
func (k *Keys) Seal(text []byte, place string) (keyID string, sealed []byte) {
	return k.active, k.byID[k.active].Seal(nil, nil, text, []byte(place))
}

// Errors of [Keys.Open].
var (
	ErrUnknownKey = errors.New("it is encrypted with a key that is not configured")
	ErrChanged    = errors.New("it cannot be decrypted: it was changed, cut or moved")
)

// Open decrypts a text. The error wraps [ErrUnknownKey] or [ErrChanged], and names the key.
func (k *Keys) Open(keyID string, sealed []byte, place string) ([]byte, error) {
	key := k.byID[keyID]
	if key == nil {
		return nil, fmt.Errorf("%w: its id is %.16q", ErrUnknownKey, keyID)
	}
	text, err := key.Open(nil, nil, sealed, []byte(place))
	if err != nil {
		return nil, fmt.Errorf("%w (key %s)", ErrChanged, keyID)
	}
	return text, nil
}
