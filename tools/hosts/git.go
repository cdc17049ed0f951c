package main

import (
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"
)

// gitOverHTTP serves the folder git by git's own CGI program.
func gitOverHTTP(folder string) http.Handler {
	git, err := exec.LookPath("git")
	must(err)
	backend := &cgi.Handler{
		Path: git,
		Args: []string{"http-backend"},
		Root: "/git",
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Join(folder, "git"), "GIT_HTTP_EXPORT_ALL=1"},
		// The repositories may belong to someone else.
		InheritEnv: []string{"PATH", "HOME"},
	}
	return guarded(func(request *http.Request) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/git/"), "/")
		return secret(filepath.Join(folder, "git", filepath.Base(name), "password"))
	}, backend)
}
