package main

import (
	"encoding/json"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// The properties of a body, comments left out.
func jsonBody(root hcl.Expression, text []byte) any {
	roots, diags := hcl.ExprList(root)
	if diags.HasErrors() {
		roots = []hcl.Expression{root}
	}
	items := []any{}
	for _, root := range roots {
		properties, diags := hcl.ExprMap(root)
		if diags.HasErrors() {
			continue
		}
		for _, p := range properties {
			r, name := p.Key.Range(), written(p.Key, text)
			if name == "//" {
				continue
			}
			whole := hcl.Range{Start: r.Start, End: p.Value.Range().End}
			items = append(items, node("attribute", whole, r.Start.Byte, r.End.Byte, name, jsonExpr(p.Value, text)))
		}
	}
	return nowhere("body", items, []any{})
}

func jsonExpr(e hcl.Expression, text []byte) any {
	if properties, diags := hcl.ExprMap(e); !diags.HasErrors() {
		items := []any{}
		for _, p := range properties {
			items = append(items, []any{jsonExpr(p.Key, text), jsonExpr(p.Value, text)})
		}
		return node("obj", e.Range(), items)
	}
	if list, diags := hcl.ExprList(e); !diags.HasErrors() {
		items := []any{}
		for _, item := range list {
			items = append(items, jsonExpr(item, text))
		}
		return node("tuple", e.Range(), items)
	}
	v, _ := e.Value(nil)
	r := e.Range()
	if !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
		return literal(v, &r)
	}
	source := written(e, text)
	return node("str", r, source, template(source, r))
}

// The text of a string. As a value it would be in NFC, but names are taken as they are written.
func written(e hcl.Expression, text []byte) string {
	r, out := e.Range(), ""
	if err := json.Unmarshal(text[r.Start.Byte:r.End.Byte], &out); err != nil {
		panic(err)
	}
	return out
}

// What the text is when it is evaluated: a template, or the faults in one; null for one without sequences.
func template(text string, r hcl.Range) any {
	if !strings.Contains(text, "${") && !strings.Contains(text, "%{") {
		return nil
	}
	start := r.Start
	start.Byte++
	start.Column++
	tree, diags := hclsyntax.ParseTemplate([]byte(text), r.Filename, start)
	// Bytes are counted in the text that escapes stand for.
	straight := len(text)+2 == r.End.Byte-r.Start.Byte
	if diags.HasErrors() {
		faults := []any{}
		for _, d := range diags {
			faults = append(faults, d.Summary)
		}
		return faults
	}
	if straight {
		return expr(tree)
	}
	return placeless(expr(tree))
}

func placeless(tree any) any {
	list, ok := tree.([]any)
	if !ok {
		return tree
	}
	if len(list) >= 3 {
		if _, named := list[0].(string); named {
			list[1], list[2] = nil, nil
		}
	}
	for i := range list {
		list[i] = placeless(list[i])
	}
	return list
}
