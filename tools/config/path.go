package config

import (
	"strconv"
	"strings"

	"github.com/toolfold/toolfold/tools"
)

// split takes a dotted path apart. A name that itself has a dot cannot be
// reached: set the object that holds it.
func split(path string) []string { return strings.Split(path, ".") }

// declared follows steps through a declaration. It is not ok where nothing
// can be; below an open map anything can.
func declared(at tools.Param, steps []string) (p tools.Param, ok bool) {
	for _, step := range steps {
		if at, ok = descend(at, step); !ok {
			return tools.Param{}, false
		}
	}
	return at, true
}

func descend(at tools.Param, step string) (p tools.Param, ok bool) {
	if step == "" {
		return tools.Param{}, false
	}
	switch at.Kind {
	case tools.KindAny:
		return at, true
	case tools.KindArray:
		_, ok = position(step)
		return *at.Items, ok
	case tools.KindObject:
		return member(at, step)
	}
	return tools.Param{}, false
}

func member(object tools.Param, name string) (p tools.Param, ok bool) {
	known := members(object)
	for _, p := range known {
		if p.Name == name {
			return p, true
		}
	}
	if object.Values != nil {
		return *object.Values, true
	}
	return tools.Param{Name: name, Kind: tools.KindAny}, len(known) == 0
}

// position reads a step as the index of a list.
func position(step string) (i int, ok bool) {
	i, err := strconv.Atoi(step)
	return i, err == nil && i >= 0
}

// lookup follows steps through values. Null counts as not set.
func lookup(value any, steps []string) (found any, ok bool) {
	for _, step := range steps {
		switch holder := value.(type) {
		case map[string]any:
			value = holder[step]
		case []any:
			i, ok := position(step)
			if !ok || i >= len(holder) {
				return nil, false
			}
			value = holder[i]
		default:
			return nil, false
		}
	}
	return value, value != nil
}

// merge returns the objects one over the other: later ones win, objects merge
// member by member, everything else is replaced. It changes none of them.
func merge(layers ...map[string]any) map[string]any {
	merged := map[string]any{}
	for _, layer := range layers {
		for name, value := range layer {
			merged[name] = over(merged[name], value)
		}
	}
	return merged
}

func over(below, value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	under, _ := below.(map[string]any)
	return merge(under, object)
}
