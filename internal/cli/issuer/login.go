package issuer

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/toolfold/toolfold/serve"
)

// Visit is a login of a user at the issuer by a browser. All members are random, except Back, the address to which
// the issuer leads the browser.
type Visit struct{ State, Nonce, Verifier, Back string }

// config is this server as a client of the issuer.
func (i *Issuer) config(endpoint oauth2.Endpoint, back string) *oauth2.Config {
	return &oauth2.Config{ClientID: i.ClientID, ClientSecret: i.ClientSecret, Endpoint: endpoint, RedirectURL: back,
		Scopes: []string{oidc.ScopeOpenID}}
}

// Begin returns the address at which a user proves to the issuer who they are.
func (i *Issuer) Begin(ctx context.Context, v Visit) (string, error) {
	said, err := i.ready(ctx)
	if err != nil {
		return "", err
	}
	return i.config(said.endpoint, v.Back).AuthCodeURL(v.State, oidc.Nonce(v.Nonce), oauth2.S256ChallengeOption(v.Verifier)), nil
}

// End returns who has logged in, by the code with which the issuer led the browser back.
func (i *Issuer) End(ctx context.Context, v Visit, code string) (serve.Identity, error) {
	nobody := serve.Identity{}
	said, err := i.ready(ctx)
	if err != nil {
		return nobody, err
	}
	asked := context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Timeout: patience})
	token, err := i.config(said.endpoint, v.Back).Exchange(asked, code, oauth2.VerifierOption(v.Verifier))
	if refused := new(oauth2.RetrieveError); errors.As(err, &refused) { // its text has the whole answer
		return nobody, fmt.Errorf("the issuer answered %s %s", refused.Response.Status, refused.ErrorCode)
	}
	if err != nil {
		return nobody, fmt.Errorf("asking the issuer who has logged in: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	user, err := said.browsers.Verify(ctx, raw)
	switch {
	case err != nil:
		return nobody, fmt.Errorf("the issuer's id token is refused: %w", err)
	case user.Nonce != v.Nonce || user.Subject == "":
		return nobody, errors.New("the issuer's id token is of another login")
	}
	return serve.Identity{Issuer: user.Issuer, Subject: user.Subject}, nil
}
