// Says what hcl makes of texts, for `ashlar-conformance -- corpus`.
//
// Reads requests from standard input until it ends: a byte for the kind of text, the text's length in four bytes, the
// text. Answers each with a length and that many bytes of JSON: the diagnostics, and the tree in the form of
// tests/oracle/syntax. What stands beside an error is part of the tree too.
//
// With the word record it reads and writes cases of tests/oracle/syntax instead.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hjson "github.com/hashicorp/hcl/v2/json"
)

type answer struct {
	Diagnostics []any  `json:"diagnostics"`
	Tree        any    `json:"tree"`
	Panic       string `json:"panic,omitempty"`
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "record" {
		record()
		return
	}
	in, out := bufio.NewReaderSize(os.Stdin, 1<<16), bufio.NewWriterSize(os.Stdout, 1<<16)
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(in, head); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			fail(err)
		}
		text := make([]byte, binary.BigEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(in, text); err != nil {
			fail(err)
		}
		told, err := json.Marshal(judge(head[0], text))
		if err != nil {
			fail(err)
		}
		binary.Write(out, binary.BigEndian, uint32(len(told)))
		out.Write(told)
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				fail(err)
			}
		}
	}
}

type fault struct {
	Summary string `json:"summary"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Byte    int    `json:"byte"`
}

// Writes cases, one a line, again with what hcl makes of their sources.
func record() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for {
		var c struct {
			ID     string  `json:"id"`
			Source string  `json:"source"`
			Accept bool    `json:"accept"`
			Faults []fault `json:"diagnostics,omitempty"`
			Tree   any     `json:"tree"`
		}
		if err := in.Decode(&c); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			fail(err)
		}
		file, diags := hclsyntax.ParseConfig([]byte(c.Source), "case.tf", hcl.InitialPos)
		c.Accept, c.Faults, c.Tree = !diags.HasErrors(), nil, body(file.Body.(*hclsyntax.Body))
		for _, d := range diags {
			at := d.Subject.Start
			c.Faults = append(c.Faults, fault{d.Summary, at.Line, at.Column, at.Byte})
		}
		if err := out.Encode(c); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}

func judge(kind byte, text []byte) (done answer) {
	defer func() {
		if r := recover(); r != nil {
			done = answer{Diagnostics: []any{}, Panic: fmt.Sprint(r)}
		}
	}()
	var diags hcl.Diagnostics
	var tree any
	switch kind {
	case 'n':
		file, told := hclsyntax.ParseConfig(text, "case", hcl.InitialPos)
		tree, diags = body(file.Body.(*hclsyntax.Body)), told
	case 'e':
		node, told := hclsyntax.ParseExpression(text, "case", hcl.InitialPos)
		tree, diags = expr(node), told
	case 't':
		node, told := hclsyntax.ParseTemplate(text, "case", hcl.InitialPos)
		tree, diags = expr(node), told
	case 'p':
		path, told := hclsyntax.ParseTraversalAbs(text, "case", hcl.InitialPos)
		tree, diags = traversal(path), told
	case 'j':
		_, diags = hjson.Parse(text, "case")
		node, _ := hjson.ParseExpression(text, "case")
		tree = jsonBody(node, text)
	default:
		panic("a text of no kind")
	}
	return answer{Diagnostics: facts(diags), Tree: tree}
}

// Summary, subject and context of each.
func facts(diags hcl.Diagnostics) []any {
	list := []any{}
	for _, d := range diags {
		list = append(list, []any{d.Summary, place(d.Subject), place(d.Context)})
	}
	return list
}

func place(r *hcl.Range) any {
	if r == nil {
		return nil
	}
	at := func(p hcl.Pos) []int { return []int{p.Line, p.Column, p.Byte} }
	return []any{at(r.Start), at(r.End)}
}
