// Command toolfold serves the tools of an agent's workbench over MCP, and
// works with them from the shell.
package main

import (
	"os"

	"github.com/toolfold/toolfold/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args)) }
