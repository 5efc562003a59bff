package upstream

import (
	"context"
	"sync"
)

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

// MemoryVault is a [Vault] in memory, for one process and until it ends.
type MemoryVault struct {
	mu      sync.Mutex
	entries map[[2]string]*memoryEntry
}

// memoryEntry is an entry of a [MemoryVault].
type memoryEntry struct {
	changing sync.Mutex // held by Update, which may wait for another server
	value    []byte     // guarded by MemoryVault.mu
}

// Read implements [Vault].
func (v *MemoryVault) Read(_ context.Context, caller, upstream string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e := v.entries[[2]string{caller, upstream}]; e != nil {
		return e.value, nil
	}
	return nil, nil
}

// Update implements [Vault].
func (v *MemoryVault) Update(_ context.Context, caller, upstream string, edit func([]byte) ([]byte, error)) error {
	e := v.entry([2]string{caller, upstream})
	e.changing.Lock()
	defer e.changing.Unlock()
	v.mu.Lock()
	value := e.value
	v.mu.Unlock()
	value, err := edit(value)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	e.value = value
	return nil
}

func (v *MemoryVault) entry(at [2]string) *memoryEntry {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.entries == nil {
		v.entries = map[[2]string]*memoryEntry{}
	}
	if v.entries[at] == nil {
		v.entries[at] = &memoryEntry{}
	}
	return v.entries[at]
}
