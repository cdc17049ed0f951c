// Command terraform-provider-snoop serves the hostile test provider.
//
// SNOOP_HANDSHAKE spoils the start, before any protocol is spoken: "silent" never answers, "garbage" prints lines that
// are no handshake, "endless" prints one line without end, "exit" ends at once.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"testproviders/internal/snoop"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
)

func main() {
	switch os.Getenv("SNOOP_HANDSHAKE") {
	case "silent":
		snoop.SleepForever()
	case "garbage":
		fmt.Print("hello\n\x00\xff\xfe|1|2\n1|6|carrier-pigeon|nowhere|grpc|\n")
		snoop.SleepForever()
	case "endless":
		chunk := strings.Repeat("1|6|unix|", 4096)
		for {
			if _, err := fmt.Print(chunk); err != nil {
				os.Exit(1)
			}
		}
	case "exit":
		fmt.Fprintln(os.Stderr, "snoop: leaving before the handshake")
		os.Exit(3)
	}
	err := tf6server.Serve("forge.test/studio/snoop", func() tfprotov6.ProviderServer {
		return providerserver.NewProtocol6(snoop.Provider{})()
	})
	if err != nil {
		log.Fatal(err)
	}
}
