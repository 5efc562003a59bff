package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/permission"
)

// TokenFile returns the path of the token file in the options, or of the default one.
func TokenFile(c *cli.Context) (string, error) {
	o, err := Load(c)
	if err != nil {
		return "", err
	}
	return cmp.Or(o.HTTPTokenFile, o.defaultTokenFile()), nil
}

// ReadTokens reads a token file. It returns no tokens if the file is missing or empty.
func ReadTokens(path string) ([]permission.Token, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := permission.ReadTokens(path, info)
	if errors.Is(err, permission.ErrNoToken) {
		return nil, nil
	}
	return list, err
}

// Lapses lists the rules of the settings and tokens that match another server's tool by a name that
// does not count, with a replacement.
func Lapses(families []*toolfold.Family, settings permission.Rules, tokens []permission.Token) (lines []string) {
	for _, l := range settings.Lapses(families) {
		lines = append(lines, fmt.Sprintf("allow: %s", l))
	}
	for _, t := range tokens {
		for _, l := range t.Rules.Lapses(families) {
			lines = append(lines, fmt.Sprintf("token %s: %s", t.Name, l))
		}
	}
	return lines
}
