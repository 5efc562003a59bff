package api

import (
	"net/url"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/design/text"
)

// isHTTP reports whether messages use HTTP, so that operations have methods, queries and headers.
func isHTTP(base *url.URL) bool {
	return base != nil && (base.Scheme == "http" || base.Scheme == "https")
}

// refuseInAsyncAPI adds faults for the parts of an endpoint that AsyncAPI cannot express.
func refuseInAsyncAPI(found *faults, op operation, base *url.URL, at string) {
	if op.Method == "HEAD" || op.Method == "OPTIONS" {
		found.refuse(at+"/method", "GET for what is sent, or POST, PUT, PATCH, DELETE for what is received: asyncapi has no "+op.Method)
	}
	for _, p := range op.Parameters {
		switch {
		case p.In == InCookie:
			found.refuse(at+"/parameters", "list without cookies, which asyncapi does not have: "+p.Name)
		case p.In == InQuery && !isHTTP(base):
			found.refuse(at+"/parameters", "list without queries, as baseUrl is not http: put "+p.Name+" in path or header")
		case p.In == InPath && p.Type != "string":
			found.refuse(at+"/parameters", "list in which "+p.Name+" is a string: asyncapi's paths hold texts only")
		}
	}
}

// asyncAPI writes an AsyncAPI 3.0 document. Each path is a channel. The application sends the
// response of GET and receives the request of other methods; the response to these is a reply in
// the same channel.
func (r validModel) asyncAPI() ordered.Map {
	info := ordered.Map{{Key: "title", Value: text.Line(r.Name)}, {Key: "version", Value: text.Line(r.Version)}}
	setText(&info, "description", r.Description)
	if tags := r.tagged(); tags != nil {
		info.Set("tags", tags)
	}
	document := ordered.Map{{Key: "asyncapi", Value: "3.0.0"}, {Key: "info", Value: info},
		{Key: "defaultContentType", Value: "application/json"}}
	if r.base != nil {
		server := ordered.Map{{Key: "host", Value: r.base.Host}, {Key: "protocol", Value: r.base.Scheme}}
		if path := strings.TrimSuffix(r.base.EscapedPath(), "/"); path != "" {
			server.Set("pathname", path)
		}
		document.Set("servers", ordered.Map{{Key: "main", Value: server}})
	}
	channels, operations := ordered.Map{}, ordered.Map{}
	keys, names := map[string]string{}, text.NewScope()
	for _, op := range r.operations {
		key := keys[op.Path]
		if key == "" {
			key = names.Claim(channelKey(op.Path))
			keys[op.Path] = key
			channels.Set(key, channel(op))
		}
		at, _ := channels.Get(key)
		place := at.(ordered.Map)
		messages, _ := place.Get("messages")
		operation, added := op.asyncAPI(key, isHTTP(r.base))
		if !op.Public && len(r.Security) > 0 {
			var ways []ordered.Map
			for _, name := range unique(r.Security) {
				ways = append(ways, ordered.Map{{Key: "$ref", Value: "#/components/securitySchemes/" + name}})
			}
			operation.Set("security", ways)
		}
		place.Set("messages", append(messages.(ordered.Map), added...))
		channels.Set(key, place)
		operations.Set(op.id, operation)
	}
	document.Set("channels", channels)
	document.Set("operations", operations)
	if components := r.components("httpApiKey"); components != nil {
		document.Set("components", components)
	}
	return document
}

func channelKey(path string) string {
	if words := asciiWords(path); words != nil {
		return text.Camel(words)
	}
	return "root"
}

// channel returns the channel of a path without its messages.
func channel(op operation) ordered.Map {
	out := ordered.Map{{Key: "address", Value: op.Path}, {Key: "messages", Value: ordered.Map{}}}
	parameters := ordered.Map{}
	for _, p := range op.Parameters {
		if p.In == InPath {
			about := ordered.Map{}
			setText(&about, "description", p.Description)
			parameters.Set(p.Name, about)
		}
	}
	if len(parameters) > 0 {
		out.Set("parameters", parameters)
	}
	return out
}

// asyncAPI returns an operation and its messages in the channel.
func (op operation) asyncAPI(channel string, http bool) (out, messages ordered.Map) {
	action, main, reply := "receive", op.request, op.answer
	if op.Method == "GET" {
		action, main, reply = "send", op.answer, nil
	}
	reference := func(steps ...string) ordered.Map {
		at := "#/channels/" + pointerKey(channel)
		for _, step := range steps {
			at += "/" + pointerKey(step)
		}
		return ordered.Map{{Key: "$ref", Value: at}}
	}
	message := func(name string, payload any) {
		about := ordered.Map{{Key: "name", Value: name}}
		if headers := fields(op.Parameters, InHeader); headers != nil && name == op.id {
			about.Set("headers", headers)
		}
		if payload != nil {
			about.Set("payload", payload)
		}
		messages.Set(name, about)
	}
	message(op.id, main)
	out = ordered.Map{{Key: "action", Value: action}, {Key: "channel", Value: reference()}}
	setText(&out, "summary", text.Line(op.Summary))
	setText(&out, "description", op.Description)
	if len(op.Tags) > 0 {
		var tags []ordered.Map
		for _, tag := range unique(op.Tags) {
			tags = append(tags, ordered.Map{{Key: "name", Value: tag}})
		}
		out.Set("tags", tags)
	}
	out.Set("messages", []ordered.Map{reference("messages", op.id)})
	if reply != nil {
		message(op.id+"Reply", reply)
		out.Set("reply", ordered.Map{
			{Key: "channel", Value: reference()},
			{Key: "messages", Value: []ordered.Map{reference("messages", op.id+"Reply")}},
		})
	}
	if http {
		binding := ordered.Map{{Key: "method", Value: op.Method}}
		if query := fields(op.Parameters, InQuery); query != nil {
			binding.Set("query", query)
		}
		binding.Set("bindingVersion", "0.3.0")
		out.Set("bindings", ordered.Map{{Key: "http", Value: binding}})
	}
	return out, messages
}

// fields returns the JSON Schema of an object with the parameters of a location; nil if there are
// no parameters.
func fields(parameters []Parameter, in string) ordered.Map {
	properties := ordered.Map{}
	var required []string
	for _, p := range parameters {
		if p.In != in {
			continue
		}
		schema := p.schema()
		setText(&schema, "description", p.Description)
		properties.Set(p.Name, schema)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	if len(properties) == 0 {
		return nil
	}
	schema := ordered.Map{{Key: "type", Value: "object"}, {Key: "properties", Value: properties}}
	if required != nil {
		schema.Set("required", required)
	}
	return schema
}
