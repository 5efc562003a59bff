package env

import "runtime/debug"

// Version returns the version of the module, as the Go toolchain stamped it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
