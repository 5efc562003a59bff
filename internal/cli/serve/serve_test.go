package serve

import (
	"net"
	"testing"
)

// An address that stands for all addresses of the machine is not one that a client can use.
func TestReachable(t *testing.T) {
	for given, want := range map[string]string{
		"[::]:8137": "127.0.0.1:8137", "0.0.0.0:8137": "127.0.0.1:8137", "127.0.0.1:8137": "127.0.0.1:8137", "[::1]:8137": "[::1]:8137",
		"192.0.2.7:80": "192.0.2.7:80", "[2001:db8::1]:8137": "[2001:db8::1]:8137",
	} {
		addr, err := net.ResolveTCPAddr("tcp", given)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachable(addr); got != want {
			t.Errorf("reachable(%s) = %s, want %s", given, got, want)
		}
	}
}
