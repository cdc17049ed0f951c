// Package snoop is a protocol 6 provider that misbehaves on purpose: it looks at what is none of its business, hangs,
// crashes and writes to places it should leave alone. It shows what the engine's fences and timeouts are worth.
package snoop

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// Provider is the provider. It takes no configuration.
type Provider struct{}

func (Provider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "snoop"
	resp.Version = "1.0.0"
}

func (Provider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{}
}

func (Provider) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

func (Provider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		trouble("snoop_hang", hang),
		trouble("snoop_crash", crash),
		trouble("snoop_garbage", garbage),
	}
}

func (Provider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return readData{} },
		func() datasource.DataSource { return envData{} },
	}
}

// SleepForever blocks the caller for good. (A bare select would end the process as a deadlock.)
func SleepForever() {
	for {
		time.Sleep(time.Hour)
	}
}
