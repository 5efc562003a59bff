package engine

import (
	"maps"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// known returns the shapes of the variables that the expressions of a step may use.
func (c *compiler) known(sc scope) expression.Shapes {
	steps := &expression.Shape{Kind: toolfold.KindObject, Members: map[string]*expression.Shape{}}
	for id := range sc.steps {
		steps.Members[id] = c.shapes[id]
	}
	failure := closed(map[string]*expression.Shape{"code": ofText, "message": ofText, "stepId": ofText})
	shapes := expression.Shapes{
		inputName: c.input, stepsName: steps, errorsName: {Kind: toolfold.KindObject, Others: failure},
		indexName: {Kind: toolfold.KindNumber},
	}
	maps.Copy(shapes, sc.shapes)
	return shapes
}

var ofText = &expression.Shape{Kind: toolfold.KindString}

func closed(members map[string]*expression.Shape) *expression.Shape {
	return &expression.Shape{Kind: toolfold.KindObject, Members: members, Closed: true}
}

// outputs returns the shape of the outputs of lists of steps, by stepId.
func (c *compiler) outputs(lists ...*list) *expression.Shape {
	members := map[string]*expression.Shape{}
	for _, l := range lists {
		for _, id := range l.ids() {
			members[id] = c.shapes[id]
		}
	}
	return closed(members)
}

// rounds returns the shape of the outputs of a loop.
func (c *compiler) rounds(body *list) *expression.Shape {
	return &expression.Shape{Kind: toolfold.KindArray, Item: c.outputs(body)}
}

// itemOf returns the shape of the items of an expression's list, or nil if it is unknown.
func (c *compiler) itemOf(source any, sc scope) *expression.Shape {
	text, ok := source.(string)
	if !ok || c.results == nil {
		return nil
	}
	if of := expression.ShapeOf(plainSource(text), c.known(sc)); of != nil {
		return of.Item
	}
	return nil
}

// resultOf returns the shape of the result of a call, or nil if it may be anything.
func (c *compiler) resultOf(u toolUse) *expression.Shape {
	action := u.toAction(c.results)
	if action == nil || u.open || action.Input != nil || action.OpenResult() {
		return nil
	}
	whole, _ := u.arguments.(map[string]any)
	params, isObject := whole[callctx.ArgParams].(map[string]any)
	if whole[callctx.ArgJQ] != nil || params[callctx.ArgJQ] != nil || whole[callctx.ArgParams] != nil && !isObject {
		return nil // a jq filter changes the result
	}
	shape := ofMembers(action.Results())
	if _, declared := shape.Members["warnings"]; !declared { // calls add them
		shape.Members["warnings"] = &expression.Shape{Kind: toolfold.KindArray, Item: ofText}
	}
	return shape
}

func ofMembers(params []toolfold.Param) *expression.Shape {
	members := map[string]*expression.Shape{}
	for _, p := range params {
		members[p.Name] = ofParam(p)
	}
	return closed(members)
}

// ofParam returns the shape of a declared value.
func ofParam(p toolfold.Param) *expression.Shape {
	switch p.Kind {
	case toolfold.KindString, toolfold.KindNumber, toolfold.KindBoolean:
		return &expression.Shape{Kind: p.Kind}
	case toolfold.KindInteger:
		return &expression.Shape{Kind: toolfold.KindNumber}
	case toolfold.KindArray:
		list := &expression.Shape{Kind: toolfold.KindArray}
		if p.Items != nil {
			list.Item = ofParam(*p.Items)
		}
		return list
	case toolfold.KindObject:
		object := ofMembers(p.Members())
		if p.Values != nil {
			object.Others = ofParam(*p.Values)
		}
		object.Closed = len(object.Members) > 0 && p.Values == nil && !p.Loose
		return object
	}
	return nil
}

// combining are the JSON Schema keywords that make the shape of a value depend on more than its
// type, members and items.
var combining = []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies",
	"unevaluatedProperties", "unevaluatedItems", "enum", "const"}

// ofSchema returns the shape of values that satisfy a JSON Schema, or nil if it is unknown.
func ofSchema(schema any) *expression.Shape {
	s, _ := schema.(map[string]any)
	for _, word := range combining {
		if s[word] != nil {
			return nil
		}
	}
	kind, _ := s["type"].(string)
	switch kind := toolfold.Kind(kind); kind {
	case toolfold.KindString, toolfold.KindNumber, toolfold.KindBoolean:
		return &expression.Shape{Kind: kind}
	case toolfold.KindInteger:
		return &expression.Shape{Kind: toolfold.KindNumber}
	case toolfold.KindArray:
		list := &expression.Shape{Kind: kind}
		if s["prefixItems"] == nil {
			list.Item = ofSchema(s["items"])
		}
		return list
	case toolfold.KindObject:
		object := &expression.Shape{Kind: kind, Members: map[string]*expression.Shape{}}
		properties, _ := s["properties"].(map[string]any)
		for name, property := range properties {
			object.Members[name] = ofSchema(property)
		}
		if s["patternProperties"] == nil {
			object.Closed = s["additionalProperties"] == false
			object.Others = ofSchema(s["additionalProperties"])
		}
		return object
	}
	return nil
}

// ofInput returns the shape of an input. If its schema has no type, it is an object.
func ofInput(schema []byte) *expression.Shape {
	var s map[string]any
	if len(schema) == 0 || jsonx.Decode(schema, &s) != nil || s == nil { // null is not a schema
		return nil
	}
	if s["type"] == nil {
		s["type"] = string(toolfold.KindObject)
	}
	return ofSchema(s)
}
