package kiln

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// bricks lists all bricks of the world, or those of one site, ordered by id.
type bricks struct{ brick }

type bricksModel struct {
	Site types.String `tfsdk:"site"`
	Fail types.String `tfsdk:"fail"`
}

func newBricks() list.ListResource {
	return &bricks{brick{piece{typeName: "kiln_brick"}}}
}

func (b *bricks) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = b.typeName
}

func (b *bricks) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"site": schema.StringAttribute{Optional: true},
		"fail": schema.StringAttribute{Optional: true, Description: "now fails at once, late after the first brick; warn only warns."},
	}}
}

func (b *bricks) ValidateListResourceConfig(ctx context.Context, req list.ValidateConfigRequest, resp *list.ValidateConfigResponse) {
	var m bricksModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if m.Site.ValueString() == "nowhere" {
		resp.Diagnostics.AddAttributeError(path.Root("site"), "Invalid site", "There are no bricks at the site \"nowhere\".")
	}
}

func (b *bricks) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var m bricksModel
	if diags := req.Config.Get(ctx, &m); diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	objects, err := b.world.List(b.stored())
	if err != nil {
		stream.Results = list.ListResultsStreamDiagnostics(diag.Diagnostics{diag.NewErrorDiagnostic("Cannot list bricks", err.Error())})
		return
	}
	told := func(push func(list.ListResult) bool, d diag.Diagnostic) bool {
		return push(list.ListResult{Diagnostics: diag.Diagnostics{d}})
	}
	stream.Results = func(push func(list.ListResult) bool) {
		switch m.Fail.ValueString() {
		case "now":
			told(push, diag.NewErrorDiagnostic("Cannot list bricks", "The configuration asked for this failure."))
			return
		case "warn":
			if !told(push, diag.NewWarningDiagnostic("Bricks are old", "The configuration asked for this warning.")) {
				return
			}
		}
		for _, obj := range objects {
			var attrs struct {
				Name string  `json:"name"`
				Site string  `json:"site"`
				Note *string `json:"note"`
			}
			if err := json.Unmarshal(obj.Attributes, &attrs); err != nil {
				told(push, diag.NewErrorDiagnostic("Cannot read a brick", err.Error()))
				return
			}
			if !m.Site.IsNull() && m.Site.ValueString() != attrs.Site {
				continue
			}
			result := req.NewListResult(ctx)
			result.DisplayName = "Brick " + attrs.Name
			for _, name := range []string{"name", "site"} {
				value := attrs.Name
				if name == "site" {
					value = attrs.Site
				}
				result.Diagnostics.Append(result.Identity.SetAttribute(ctx, path.Root(name), value)...)
				if req.IncludeResource {
					result.Diagnostics.Append(result.Resource.SetAttribute(ctx, path.Root(name), value)...)
				}
			}
			if req.IncludeResource {
				result.Diagnostics.Append(result.Resource.SetAttribute(ctx, path.Root("id"), obj.ID)...)
				result.Diagnostics.Append(result.Resource.SetAttribute(ctx, path.Root("note"), types.StringPointerValue(attrs.Note))...)
			}
			if !push(result) {
				return
			}
			if m.Fail.ValueString() == "late" {
				told(push, diag.NewErrorDiagnostic("The list broke off", "The configuration asked for this failure."))
				return
			}
		}
	}
}
