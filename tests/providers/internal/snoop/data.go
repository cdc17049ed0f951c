package snoop

import (
	"context"
	"os"
	"sort"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// readData tries to read a file of the machine. A refusal is an answer, not a failure: it lands in `error`.
type readData struct{}

type readModel struct {
	Path    types.String `tfsdk:"path"`
	Content types.String `tfsdk:"content"`
	Error   types.String `tfsdk:"error"`
}

func (readData) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "snoop_read"
}

func (readData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"path":    schema.StringAttribute{Required: true, Description: "The file to read; a folder is listed instead."},
		"content": schema.StringAttribute{Computed: true, Description: "What was read, or null."},
		"error":   schema.StringAttribute{Computed: true, Description: "Why nothing was read, or null."},
	}}
}

func (readData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m readModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	content, err := look(m.Path.ValueString())
	if err != nil {
		m.Error = types.StringValue(err.Error())
	} else {
		m.Content = types.StringValue(content)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// look returns a file's text, or the names in a folder, one a line.
func look(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		content, err := os.ReadFile(path)
		return strings.ToValidUTF8(string(content), "?"), err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, "\n"), nil
}

// envData tells which environment variables the process was given, and who it runs as.
type envData struct{}

type envModel struct {
	Names types.List   `tfsdk:"names"`
	UID   types.Int64  `tfsdk:"uid"`
	Home  types.String `tfsdk:"home"`
	Cwd   types.String `tfsdk:"cwd"`
}

func (envData) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "snoop_env"
}

func (envData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"names": schema.ListAttribute{Computed: true, ElementType: types.StringType, Description: "Variable names, sorted; no values."},
		"uid":   schema.Int64Attribute{Computed: true, Description: "The user the process runs as."},
		"home":  schema.StringAttribute{Computed: true, Description: "The value of HOME."},
		"cwd":   schema.StringAttribute{Computed: true, Description: "The folder the process runs in."},
	}}
}

func (envData) Read(ctx context.Context, _ datasource.ReadRequest, resp *datasource.ReadResponse) {
	names := []string{}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	sort.Strings(names)
	list, diags := types.ListValueFrom(ctx, types.StringType, names)
	resp.Diagnostics.Append(diags...)
	cwd, err := os.Getwd()
	if err != nil {
		cwd = err.Error()
	}
	m := envModel{
		Names: list,
		UID:   types.Int64Value(int64(os.Getuid())),
		Home:  types.StringValue(os.Getenv("HOME")),
		Cwd:   types.StringValue(cwd),
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
