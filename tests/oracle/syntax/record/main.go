// Records what hcl's json package says of the sources in json.jsonl: reads cases, one a line, and writes them again with
// what Parse tells of each.
//
//	go run . < ../json.jsonl > json.new
package main

import (
	"bufio"
	"encoding/json"
	"os"

	hjson "github.com/hashicorp/hcl/v2/json"
)

type diag struct {
	Summary string `json:"summary"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Byte    int    `json:"byte"`
}
type out struct {
	ID     string `json:"id"`
	Source string `json:"source"`
	Accept bool   `json:"accept"`
	Diags  []diag `json:"diagnostics"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	w := json.NewEncoder(os.Stdout)
	w.SetEscapeHTML(false)
	for in.Scan() {
		var c struct{ ID, Source string }
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			panic(err)
		}
		_, diags := hjson.Parse([]byte(c.Source), "case.tf.json")
		o := out{c.ID, c.Source, !diags.HasErrors(), []diag{}}
		for _, d := range diags {
			o.Diags = append(o.Diags, diag{d.Summary, d.Subject.Start.Line, d.Subject.Start.Column, d.Subject.Start.Byte})
		}
		w.Encode(o)
	}
}
