package kilnv5

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// fireType names the action of this provider.
const fireType = "kilnv5_fire"

// WithActions adds the action kilnv5_fire to a server of this provider. The
// older SDK knows of no actions, so it is written against the protocol itself.
// It does what kiln_fire does: report progress, and fail if told to; the
// operations log is where its effect shows.
func WithActions(inner tfprotov5.ProviderServer) tfprotov5.ProviderServer {
	return &withActions{inner}
}

type withActions struct{ tfprotov5.ProviderServer }

var fireSchema = &tfprotov5.Schema{Block: &tfprotov5.SchemaBlock{Attributes: []*tfprotov5.SchemaAttribute{
	{Name: "fail", Type: tftypes.String, Optional: true, Description: "plan or invoke fails."},
	{Name: "stages", Type: tftypes.Number, Optional: true, Description: "How many progress messages to send."},
	{Name: "target", Type: tftypes.String, Required: true},
}}}

// fire is the configuration of the action.
type fire struct {
	target, fail string
	stages       int64
}

func (w *withActions) GetMetadata(ctx context.Context, req *tfprotov5.GetMetadataRequest) (*tfprotov5.GetMetadataResponse, error) {
	resp, err := w.ProviderServer.GetMetadata(ctx, req)
	if err == nil {
		resp.Actions = append(resp.Actions, tfprotov5.ActionMetadata{TypeName: fireType})
	}
	return resp, err
}

func (w *withActions) GetProviderSchema(ctx context.Context, req *tfprotov5.GetProviderSchemaRequest) (*tfprotov5.GetProviderSchemaResponse, error) {
	resp, err := w.ProviderServer.GetProviderSchema(ctx, req)
	if err == nil {
		resp.ActionSchemas = map[string]*tfprotov5.ActionSchema{fireType: {Schema: fireSchema}}
	}
	return resp, err
}

func (w *withActions) ValidateActionConfig(_ context.Context, req *tfprotov5.ValidateActionConfigRequest) (*tfprotov5.ValidateActionConfigResponse, error) {
	_, faults := read(req.ActionType, req.Config)
	return &tfprotov5.ValidateActionConfigResponse{Diagnostics: faults}, nil
}

func (w *withActions) PlanAction(_ context.Context, req *tfprotov5.PlanActionRequest) (*tfprotov5.PlanActionResponse, error) {
	f, faults := read(req.ActionType, req.Config)
	if f.fail == "plan" {
		faults = append(faults, failure("Cannot plan the firing"))
	}
	return &tfprotov5.PlanActionResponse{Diagnostics: faults}, nil
}

func (w *withActions) InvokeAction(_ context.Context, req *tfprotov5.InvokeActionRequest) (*tfprotov5.InvokeActionServerStream, error) {
	f, faults := read(req.ActionType, req.Config)
	return &tfprotov5.InvokeActionServerStream{Events: func(yield func(tfprotov5.InvokeActionEvent) bool) {
		for i := int64(1); i <= f.stages; i++ {
			message := fmt.Sprintf("firing %s: stage %d", f.target, i)
			if !yield(tfprotov5.InvokeActionEvent{Type: tfprotov5.ProgressInvokeActionEventType{Message: message}}) {
				return
			}
		}
		if f.fail == "invoke" {
			faults = append(faults, failure("The firing failed"))
		}
		yield(tfprotov5.InvokeActionEvent{Type: tfprotov5.CompletedInvokeActionEventType{Diagnostics: faults}})
	}}, nil
}

func failure(summary string) *tfprotov5.Diagnostic {
	return &tfprotov5.Diagnostic{
		Severity: tfprotov5.DiagnosticSeverityError,
		Summary:  summary,
		Detail:   "The configuration asked for this failure.",
	}
}

// read decodes a configuration; what is not known stays empty.
func read(kind string, config *tfprotov5.DynamicValue) (fire, []*tfprotov5.Diagnostic) {
	fail := func(detail string) (fire, []*tfprotov5.Diagnostic) {
		return fire{}, []*tfprotov5.Diagnostic{{
			Severity: tfprotov5.DiagnosticSeverityError, Summary: "Bad action configuration", Detail: detail,
		}}
	}
	if kind != fireType {
		return fail(fmt.Sprintf("there is no action %q", kind))
	}
	value, err := config.Unmarshal(fireSchema.ValueType())
	if err != nil {
		return fail(err.Error())
	}
	attrs := map[string]tftypes.Value{}
	if err := value.As(&attrs); err != nil {
		return fail(err.Error())
	}
	var f fire
	for name, into := range map[string]*string{"target": &f.target, "fail": &f.fail} {
		if v := attrs[name]; v.IsKnown() && !v.IsNull() {
			if err := v.As(into); err != nil {
				return fail(err.Error())
			}
		}
	}
	if v := attrs["stages"]; v.IsKnown() && !v.IsNull() {
		stages := new(big.Float)
		if err := v.As(&stages); err != nil {
			return fail(err.Error())
		}
		f.stages, _ = stages.Int64()
	}
	return f, nil
}
