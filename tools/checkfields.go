package tools

// CheckFields lists what is wrong with an object that should have the given
// members and no others. All of them are optional; what is inside them is
// checked as declared. Paths are JSON pointers into the object, whose numbers
// may be [json.Number]. It compiles a schema each time it is called.
func CheckFields(params []Param, object map[string]any) []Problem {
	schema := objectSchema(nil, params, strict)
	schema.Set("additionalProperties", false)
	return mustCompile("fields", schema).problems(object)
}
