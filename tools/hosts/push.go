package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// push makes an artifact of the form that Flux has, and sends it.
func push(reference, folder string) {
	tag, err := name.ParseReference(reference)
	must(err)
	var packed bytes.Buffer
	must(pack(&packed, folder))
	layer := static.NewLayer(packed.Bytes(), types.MediaType("application/vnd.cncf.flux.content.v1.tar+gzip"))
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.MediaType("application/vnd.cncf.flux.config.v1+json"))
	image, err = mutate.AppendLayers(image, layer)
	must(err)
	options := []remote.Option{}
	if user, password, given := strings.Cut(os.Getenv("OCI_PASSWORD"), ":"); given {
		options = append(options, remote.WithAuth(&authn.Basic{Username: user, Password: password}))
	}
	must(remote.Write(tag, image, options...))
	digest, err := image.Digest()
	must(err)
	fmt.Println(digest)
}

// packFile writes a folder as a tar.gz.
func packFile(folder, file string) {
	var packed bytes.Buffer
	must(pack(&packed, folder))
	must(os.WriteFile(file, packed.Bytes(), 0o644))
	fmt.Printf("sha256:%x\n", sha256.Sum256(packed.Bytes()))
}
