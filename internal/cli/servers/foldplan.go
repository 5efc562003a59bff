package servers

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/internal/text/unseen"
	"github.com/toolfold/toolfold/internal/text/yamlx"
)

// FoldPlan is a plan for the tools of a server as its user writes it.
type FoldPlan struct {
	fold.Plan
	root *yaml.Node // for the lines of faults
}

// ReadFoldPlan parses a plan in YAML. Errors name the line.
func ReadFoldPlan(text []byte) (p FoldPlan, err error) {
	if err := yamlx.Decode(text, &p.Plan); err != nil {
		return p, err
	}
	roots, err := yamlx.Read(text)
	if err == nil && len(roots) > 1 {
		err = yamlx.At(roots[1], "a plan is one document: remove the line --- and what follows it")
	}
	if err != nil {
		return p, err
	}
	p.root = roots[0]
	return p, nil
}

// Placed adds the lines of the plan to the faults in an error of the gateway, and sorts them by line.
func (p FoldPlan) Placed(err error) error {
	joined, many := err.(interface{ Unwrap() []error })
	if !many {
		return err
	}
	var placed []*yamlx.Error
	var all []error
	for _, one := range joined.Unwrap() {
		if fault, is := errors.AsType[*fold.Fault](one); is && fault.Family >= 0 {
			placed = append(placed, yamlx.At(p.node(fault), "%s", fault.Reason))
		} else {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(placed, func(a, b *yamlx.Error) int { return a.Line - b.Line })
	for i, e := range placed {
		all = slices.Insert(all, i, fmt.Errorf("line %d: %s", e.Line, e.Reason))
	}
	return errors.Join(all...)
}

// node returns the node of the family or action with a fault.
func (p FoldPlan) node(fault *fold.Fault) *yaml.Node {
	at := entry(member(p.root, "families"), fault.Family)
	if fault.Action >= 0 {
		at = entry(member(at, "actions"), fault.Action)
	}
	return at
}

// member returns the value of a name in a mapping, or the node itself if it has no such name.
func member(n *yaml.Node, name string) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return n
}

// entry returns an entry of a list, or the node itself if it has no such entry.
func entry(n *yaml.Node, i int) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.SequenceNode && i < len(n.Content) {
		return n.Content[i]
	}
	return n
}

// WriteFoldPlan returns a plan as YAML. Hidden characters are escaped.
func WriteFoldPlan(plan fold.Plan) (string, error) {
	var root yaml.Node
	if err := root.Encode(plan); err != nil {
		return "", fmt.Errorf("writing the plan: %w", err)
	}
	quoteHidden(&root)
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := errors.Join(encoder.Encode(&root), encoder.Close()); err != nil {
		return "", fmt.Errorf("writing the plan: %w", err)
	}
	return unseen.Escaped(text.String()), nil
}

// quoteHidden writes texts with hidden characters in double quotes, where escapes are read.
func quoteHidden(n *yaml.Node) {
	if _, hidden := unseen.First(n.Value); hidden || strings.ContainsAny(n.Value, "\t\r") {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, inner := range n.Content {
		quoteHidden(inner)
	}
}

// RenamedTools lists the tools of a server that get another name from the new plan.
func RenamedTools(before, after fold.Plan) (lines []string) {
	names := map[string]string{}
	for _, f := range before.Families {
		for _, a := range f.Actions {
			names[a.Tool] = f.Name + "." + a.Name
		}
	}
	for _, f := range after.Families {
		for _, a := range f.Actions {
			if was, now := names[a.Tool], f.Name+"."+a.Name; was != "" && was != now {
				lines = append(lines, fmt.Sprintf("%s is %s now", was, now))
			}
		}
	}
	return lines
}
