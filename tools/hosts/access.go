package main

import (
	"net/http"
	"os"
	"strings"
)

// secret is the content of a file, or nothing when there is no such file.
func secret(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// guarded asks for user and password when there are any.
func guarded(password func(*http.Request) string, inner http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		wanted := password(request)
		user, given, _ := request.BasicAuth()
		if wanted != "" && user+":"+given != wanted {
			response.Header().Set("WWW-Authenticate", `Basic realm="hosts"`)
			http.Error(response, "who are you?", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(response, request)
	})
}
