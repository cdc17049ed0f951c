package main

import (
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A node of the tree. Places that hcl does not keep, or that end before they begin, are null.
func node(kind string, r hcl.Range, more ...any) []any {
	if r.End.Byte < r.Start.Byte {
		return nowhere(kind, more...)
	}
	return append([]any{kind, r.Start.Byte, r.End.Byte}, more...)
}

func nowhere(kind string, more ...any) []any {
	return append([]any{kind, nil, nil}, more...)
}

func body(b *hclsyntax.Body) any {
	if b == nil {
		return nil
	}
	var attributes []*hclsyntax.Attribute
	for _, a := range b.Attributes {
		attributes = append(attributes, a)
	}
	sort.Slice(attributes, func(i, j int) bool {
		return attributes[i].NameRange.Start.Byte < attributes[j].NameRange.Start.Byte
	})
	items, blocks := []any{}, []any{}
	for _, a := range attributes {
		n := a.NameRange
		items = append(items, node("attribute", a.SrcRange, n.Start.Byte, n.End.Byte, a.Name, expr(a.Expr)))
	}
	for _, k := range b.Blocks {
		labels := []any{}
		for i, label := range k.Labels {
			r := k.LabelRanges[i]
			labels = append(labels, []any{r.Start.Byte, r.End.Byte, label})
		}
		t := k.TypeRange
		whole := hcl.Range{Start: t.Start, End: k.CloseBraceRange.End}
		blocks = append(blocks, node("block", whole, t.Start.Byte, t.End.Byte, k.Type, labels, body(k.Body)))
	}
	return node("body", b.SrcRange, items, blocks)
}

func expr(e hclsyntax.Expression) any {
	switch e := e.(type) {
	case nil:
		return nowhere("broken")
	case *hclsyntax.LiteralValueExpr:
		r := e.SrcRange
		return literal(e.Val, &r)
	case *hclsyntax.ScopeTraversalExpr:
		return traversal(e.Traversal)
	case *hclsyntax.RelativeTraversalExpr:
		return steps(expr(e.Source), e.Source.Range(), e.Traversal)
	case *hclsyntax.IndexExpr:
		return node("index", e.SrcRange, expr(e.Collection), expr(e.Key))
	case *hclsyntax.SplatExpr:
		return node("splat", e.SrcRange, expr(e.Source), expr(e.Each))
	case *hclsyntax.AnonSymbolExpr:
		return node("item", e.SrcRange)
	case *hclsyntax.FunctionCallExpr:
		return node("call", e.Range(), e.Name, exprs(e.Args), e.ExpandFinal)
	case *hclsyntax.ConditionalExpr:
		return node("cond", e.SrcRange, expr(e.Condition), expr(e.TrueResult), expr(e.FalseResult))
	case *hclsyntax.BinaryOpExpr:
		return node("bin", e.SrcRange, symbol(e.Op), expr(e.LHS), expr(e.RHS))
	case *hclsyntax.UnaryOpExpr:
		return node("un", e.SrcRange, symbol(e.Op), expr(e.Val))
	case *hclsyntax.ParenthesesExpr:
		return node("paren", e.SrcRange, expr(e.Expression))
	case *hclsyntax.TupleConsExpr:
		return node("tuple", e.SrcRange, exprs(e.Exprs))
	case *hclsyntax.ObjectConsExpr:
		items := []any{}
		for _, item := range e.Items {
			items = append(items, []any{key(item.KeyExpr), expr(item.ValueExpr)})
		}
		return node("obj", e.SrcRange, items)
	case *hclsyntax.ForExpr:
		optional := func(e hclsyntax.Expression) any {
			if e == nil {
				return nil
			}
			return expr(e)
		}
		return node("for", e.SrcRange, e.KeyVar, e.ValVar, expr(e.CollExpr), optional(e.KeyExpr), expr(e.ValExpr),
			optional(e.CondExpr), e.Group)
	case *hclsyntax.TemplateExpr:
		parts := joined(e.Parts)
		if !slices.ContainsFunc(e.Parts, func(e hclsyntax.Expression) bool { return !isText(e) }) {
			if len(parts) == 0 {
				return node("str", e.SrcRange, "")
			}
			return node("str", e.SrcRange, parts[0].([]any)[3])
		}
		return node("tmpl", e.SrcRange, parts)
	case *hclsyntax.TemplateWrapExpr:
		return node("wrap", e.SrcRange, expr(e.Wrapped))
	case *hclsyntax.TemplateJoinExpr:
		return node("join", e.Range(), expr(e.Tuple))
	case *hclsyntax.ExprSyntaxError:
		return node("broken", e.SrcRange)
	case *hclsyntax.ObjectConsKeyExpr:
		return key(e)
	}
	panic(fmt.Sprintf("no form for %T", e))
}

func exprs(list []hclsyntax.Expression) []any {
	out := []any{}
	for _, e := range list {
		out = append(out, expr(e))
	}
	return out
}

// The parts of a template; pieces of text that touch are one, and those without text are left out.
func joined(parts []hclsyntax.Expression) []any {
	out := []any{}
	text, open := "", hcl.Range{}
	flush := func() {
		if text != "" {
			out = append(out, node("str", open, cty.StringVal(text).AsString()))
		}
		text = ""
	}
	for _, part := range parts {
		if isText(part) {
			l := part.(*hclsyntax.LiteralValueExpr)
			if piece := l.Val.AsString(); piece != "" {
				if text == "" {
					open = l.SrcRange
				}
				open.End = l.SrcRange.End
				text += piece
			}
			continue
		}
		flush()
		out = append(out, expr(part))
	}
	flush()
	return out
}

func isText(e hclsyntax.Expression) bool {
	l, ok := e.(*hclsyntax.LiteralValueExpr)
	return ok && l.Val.IsKnown() && !l.Val.IsNull() && l.Val.Type() == cty.String
}

func key(e hclsyntax.Expression) any {
	k, ok := e.(*hclsyntax.ObjectConsKeyExpr)
	if !ok {
		return expr(e)
	}
	if word := hcl.ExprAsKeyword(k.Wrapped); word != "" && !k.ForceNonLiteral {
		return node("kid", k.Wrapped.Range(), word)
	}
	return expr(k.Wrapped)
}

func traversal(path hcl.Traversal) any {
	if len(path) == 0 {
		return nil
	}
	root, ok := path[0].(hcl.TraverseRoot)
	if !ok {
		return nil
	}
	return steps(node("var", root.SrcRange, root.Name), root.SrcRange, path[1:])
}

func steps(source any, from hcl.Range, path hcl.Traversal) any {
	for _, step := range path {
		whole := hcl.Range{Start: from.Start, End: step.SourceRange().End}
		switch step := step.(type) {
		case hcl.TraverseAttr:
			source = node("attr", whole, source, step.Name)
		case hcl.TraverseIndex:
			source = node("index", whole, source, literal(step.Key, nil))
		default:
			panic(fmt.Sprintf("no form for %T", step))
		}
	}
	return source
}

func literal(v cty.Value, r *hcl.Range) any {
	form := func(kind string, more ...any) any {
		if r == nil {
			return nowhere(kind, more...)
		}
		return node(kind, *r, more...)
	}
	switch {
	case !v.IsKnown():
		return form("broken")
	case v.IsNull():
		return form("null")
	case v.Type() == cty.String:
		return form("str", v.AsString())
	case v.Type() == cty.Bool:
		return form("bool", v.True())
	case v.Type() == cty.Number:
		return form("num", exact(v.AsBigFloat()))
	}
	panic("a literal of no kind")
}

// A number as its significant digits and the exponent that follows them.
func exact(f *big.Float) string {
	if f.Sign() == 0 {
		return "0"
	}
	mantissa, exponent, _ := strings.Cut(f.Text('e', -1), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	shift, ok := new(big.Int).SetString(exponent, 10)
	if !ok {
		panic("an exponent that is no number")
	}
	digits := whole + strings.TrimRight(fraction, "0")
	significant := strings.TrimRight(digits, "0")
	shift.Add(shift, big.NewInt(int64(len(digits)-len(significant)-(len(digits)-len(whole)))))
	return significant + "e" + shift.String()
}

func symbol(op *hclsyntax.Operation) string {
	for s, o := range map[string]*hclsyntax.Operation{
		"||": hclsyntax.OpLogicalOr, "&&": hclsyntax.OpLogicalAnd, "==": hclsyntax.OpEqual, "!=": hclsyntax.OpNotEqual,
		">": hclsyntax.OpGreaterThan, ">=": hclsyntax.OpGreaterThanOrEqual, "<": hclsyntax.OpLessThan,
		"<=": hclsyntax.OpLessThanOrEqual, "+": hclsyntax.OpAdd, "-": hclsyntax.OpSubtract, "*": hclsyntax.OpMultiply,
		"/": hclsyntax.OpDivide, "%": hclsyntax.OpModulo,
	} {
		if o == op {
			return s
		}
	}
	switch op {
	case hclsyntax.OpNegate:
		return "-"
	case hclsyntax.OpLogicalNot:
		return "!"
	}
	panic("an operator of no sign")
}
