package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(c *cli.Context) error {
			_, err := fmt.Fprintln(c.App.Writer, "toolfold", env.Version())
			return err
		},
	}
}
