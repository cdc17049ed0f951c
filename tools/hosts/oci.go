package main

import (
	"io"
	"log"
	"net/http"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/registry"
)

// ociRegistry keeps what is pushed in memory.
func ociRegistry(folder string) http.Handler {
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	return guarded(func(*http.Request) string { return secret(filepath.Join(folder, "oci-password")) }, inner)
}
