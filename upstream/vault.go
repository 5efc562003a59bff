package upstream

import "context"

// Vault stores the logins of callers at upstreams. A caller is a stable key of an issuer and a subject; an upstream is
// the user's name for a server. Entries are opaque. A Vault is safe for concurrent use, also by other processes.
type Vault interface {
	// Read returns the entry of a caller at an upstream; nil if there is no entry.
	Read(ctx context.Context, caller, upstream string) (entry []byte, err error)

	// Update runs edit with the entry while no other process reads or changes it with Update, and stores the entry
	// that edit returns. Nil stands for no entry: edit gets it if there is none, and returns it to remove one. An
	// error of edit is returned, and changes nothing.
	Update(ctx context.Context, caller, upstream string, edit func(entry []byte) ([]byte, error)) error
}
