// Package content has the parts of prompts, resources and answers of tools: text, images, sounds,
// contents of resources, and links to resources.
package content

import (
	"encoding/json"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Block is one part of a message or of a tool's answer. The zero Block is not a valid part.
type Block struct{ json json.RawMessage }

// MarshalJSON implements [json.Marshaler].
func (b Block) MarshalJSON() ([]byte, error) { return b.json, nil }

func block(kind string, members ...ordered.Member) Block {
	return Block{ordered.MustJSON(append(ordered.Map{{Key: "type", Value: kind}}, members...))}
}

// Text returns a block of text.
func Text(text string) Block { return block("text", ordered.Member{Key: "text", Value: text}) }

// Image returns a block with an image of a media type such as image/png.
func Image(mime string, data []byte) Block { return media("image", mime, data) }

// Audio returns a block with a sound of a media type such as audio/wav.
func Audio(mime string, data []byte) Block { return media("audio", mime, data) }

func media(kind, mime string, data []byte) Block {
	return block(kind, ordered.Member{Key: "data", Value: data}, ordered.Member{Key: "mimeType", Value: mime})
}

// Data holds the content of a resource: bytes if Blob is not nil, text otherwise.
type Data struct {
	MIME string // its media type; empty = unknown
	Text string
	Blob []byte
}

// At returns the content, under a URI, in the form of the protocol.
func (h Data) At(uri string) json.RawMessage {
	members := ordered.Map{{Key: "uri", Value: uri}}
	if h.MIME != "" {
		members.Set("mimeType", h.MIME)
	}
	if h.Blob != nil {
		members.Set("blob", h.Blob)
	} else {
		members.Set("text", h.Text)
	}
	return ordered.MustJSON(members)
}

// Embed returns a block with the content of the resource at a URI.
func Embed(uri string, data Data) Block {
	return block("resource", ordered.Member{Key: "resource", Value: data.At(uri)})
}

// Link names a resource, in a list of resources or as a block next to a text. Hosts show a model at
// most the name, URI and text of such a block.
type Link struct {
	URI   string         `json:"uri"`
	Name  string         `json:"name"`
	Title string         `json:"title,omitempty"` // shown in place of the name; empty = the name
	Doc   string         `json:"description,omitempty"`
	MIME  string         `json:"mimeType,omitempty"`
	Size  *int64         `json:"size,omitempty"` // in bytes; nil = unknown
	Meta  map[string]any `json:"_meta,omitempty"`
}

// Block returns the link as a block.
func (l Link) Block() Block {
	var members ordered.Map
	_ = json.Unmarshal(ordered.MustJSON(l), &members) // ordered.MustJSON(l) is an object
	return block("resource_link", members...)
}

// Reply returns a tool's answer with these blocks, for [toolfold.External.Relay].
func Reply(blocks ...Block) toolfold.Reply {
	return toolfold.Reply{Result: ordered.MustJSON(ordered.Map{{Key: "content", Value: blocks}})}
}
