package snoop

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// troubleResource is a resource without a remote object; during the call named by its argument `during` it misbehaves.
type troubleResource struct {
	typeName string
	cause    func(context.Context, troubleModel)
}

type troubleModel struct {
	ID         types.String `tfsdk:"id"`
	Name       types.String `tfsdk:"name"`
	During     types.String `tfsdk:"during"`
	IgnoreStop types.Bool   `tfsdk:"ignore_stop"`
	Bytes      types.Int64  `tfsdk:"bytes"`
}

func trouble(typeName string, cause func(context.Context, troubleModel)) func() resource.Resource {
	return func() resource.Resource { return &troubleResource{typeName, cause} }
}

// hang never answers. The protocol's stop request ends it, unless ignore_stop is set.
func hang(ctx context.Context, m troubleModel) {
	if m.IgnoreStop.ValueBool() {
		SleepForever()
	}
	<-ctx.Done()
}

// crash ends the process in the middle of the call.
func crash(context.Context, troubleModel) {
	fmt.Fprintln(os.Stderr, "panic: snoop crashes on purpose")
	os.Exit(1)
}

// garbage writes what is neither text nor a log line to both outputs, and then one long line; the call succeeds.
func garbage(_ context.Context, m troubleModel) {
	for _, out := range []*os.File{os.Stdout, os.Stderr} {
		fmt.Fprint(out, "1|6|unix|/dev/null|grpc|\n\x00\xff\xfe\x1b[2J{\"@level\":\"error\",\"@message\":\n")
		fmt.Fprintln(out, strings.Repeat("x", int(m.Bytes.ValueInt64())))
	}
}

func (r *troubleResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = r.typeName
}

func (r *troubleResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed:      true,
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"name": schema.StringAttribute{Required: true},
		"during": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString("create"),
			Description: "The call that misbehaves: plan, create, read, update, delete, or never.",
		},
		"ignore_stop": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			Description: "A hang that a stop request does not end.",
		},
		"bytes": schema.Int64Attribute{
			Optional: true, Computed: true, Default: int64default.StaticInt64(100_000),
			Description: "Length of the long line that garbage writes.",
		},
	}}
}

// misbehave does so if this is the call to do it in.
func (r *troubleResource) misbehave(ctx context.Context, call string, m troubleModel) {
	if m.During.ValueString() == call {
		r.cause(ctx, m)
	}
}

func (r *troubleResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var m troubleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	r.misbehave(ctx, "plan", m)
}

func (r *troubleResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m troubleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	r.misbehave(ctx, "create", m)
	if ctx.Err() != nil {
		resp.Diagnostics.AddError("Stopped", "The call was stopped before it finished.")
		return
	}
	m.ID = types.StringValue(m.Name.ValueString() + "-1")
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *troubleResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m troubleModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	r.misbehave(ctx, "read", m)
}

func (r *troubleResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m troubleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	r.misbehave(ctx, "update", m)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *troubleResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m troubleModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	r.misbehave(ctx, "delete", m)
}
