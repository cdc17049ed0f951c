package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// fakeModuleRegistry answers as Terraform's module registry protocol has it. Its packages are made at each request.
func fakeModuleRegistry(folder string) http.Handler {
	mux := http.NewServeMux()
	modules := filepath.Join(folder, "modules")
	known := func(handler http.HandlerFunc) http.HandlerFunc {
		return func(response http.ResponseWriter, request *http.Request) {
			token := secret(filepath.Join(folder, "module-token"))
			if token != "" && request.Header.Get("Authorization") != "Bearer "+token {
				http.Error(response, `{"errors":["Unauthorized"]}`, http.StatusUnauthorized)
				return
			}
			handler(response, request)
		}
	}
	place := func(request *http.Request) string {
		part := func(name string) string { return filepath.Base(request.PathValue(name)) }
		return filepath.Join(modules, part("namespace"), part("name"), part("system"))
	}
	mux.HandleFunc("GET /.well-known/terraform.json", func(response http.ResponseWriter, _ *http.Request) {
		answer(response, map[string]string{"modules.v1": "/v1/modules/"})
	})
	mux.HandleFunc("GET /v1/modules/{namespace}/{name}/{system}/versions", known(func(response http.ResponseWriter, request *http.Request) {
		entries, err := os.ReadDir(place(request))
		if err != nil {
			http.Error(response, `{"errors":["not found"]}`, http.StatusNotFound)
			return
		}
		versions := []map[string]string{}
		for _, entry := range entries {
			versions = append(versions, map[string]string{"version": entry.Name()})
		}
		answer(response, map[string]any{"modules": []any{map[string]any{"versions": versions}}})
	}))
	mux.HandleFunc("GET /v1/modules/{namespace}/{name}/{system}/{version}/download", known(func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("X-Terraform-Get", "./package.tar.gz")
		response.WriteHeader(http.StatusNoContent)
	}))
	// Terraform sends no token where an archive comes from, not even to the same host.
	mux.HandleFunc("GET /v1/modules/{namespace}/{name}/{system}/{version}/package.tar.gz", func(response http.ResponseWriter, request *http.Request) {
		response.Header().Set("Content-Type", "application/gzip")
		folder := filepath.Join(place(request), filepath.Base(request.PathValue("version")))
		if _, err := os.Stat(folder); err != nil {
			http.Error(response, "not found", http.StatusNotFound)
			return
		}
		// A client that went away is no fault.
		_ = pack(response, folder)
	})
	return mux
}

func answer(response http.ResponseWriter, value any) {
	response.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(response).Encode(value)
}

// pack writes a folder as a tar.gz.
func pack(to io.Writer, folder string) error {
	zipped := gzip.NewWriter(to)
	archive := tar.NewWriter(zipped)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(text))}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(text)
		return err
	})
	return errors.Join(err, archive.Close(), zipped.Close())
}

func serveTLS(listener net.Listener, certificate tls.Certificate, handler http.Handler) error {
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	return http.Serve(tls.NewListener(listener, config), handler)
}
