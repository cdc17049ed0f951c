// Hosts of sources, on loopback, for tests: git over http and ssh by the real git-upload-pack, the OCI registry of
// go-containerregistry, and a FAKE module registry that speaks Terraform's module registry protocol (the public one is
// out of reach of the tests; nothing here claims to be it).
//
// All that is served lies in one folder, read anew at each request:
//
//	git/NAME.git           a bare repository; with a file "password" (USER:PASSWORD) in it, only to who knows that
//	authorized_keys        who may use ssh: at first only who has deploy_key, which is made beside it
//	oci-password           USER:PASSWORD; the registry is open without it
//	modules/NS/NAME/SYSTEM/VERSION/   a module of the fake registry
//	module-token           what the fake registry asks for; it is open without it
//	archives/              files served over http as they are
//
// "hosts push" puts a folder into an OCI registry, as Flux's command line does, and prints the manifest's digest. "hosts
// pack" makes a tar.gz of one, as Flux's artifacts are, and prints its digest.
//
// hosts.json appears there once all serve, and tells where; known_hosts and ca.crt are what clients need to trust them.
package main

import (
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "push" {
		push(os.Args[2], os.Args[3])
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "pack" {
		packFile(os.Args[2], os.Args[3])
		return
	}
	if len(os.Args) != 2 {
		log.Fatal("usage: hosts FOLDER | hosts push HOST/REPOSITORY:TAG FOLDER (OCI_PASSWORD=USER:PASSWORD) | hosts pack FOLDER FILE")
	}
	folder, err := filepath.Abs(os.Args[1])
	must(err)
	must(os.MkdirAll(filepath.Join(folder, "git"), 0o755))

	plain := http.NewServeMux()
	plain.Handle("/git/", gitOverHTTP(folder))
	plain.Handle("/archives/", http.StripPrefix("/archives/", http.FileServer(http.Dir(filepath.Join(folder, "archives")))))
	certificate, authority := identity()
	must(os.WriteFile(filepath.Join(folder, "ca.crt"), authority, 0o644))

	addresses := map[string]string{}
	serve := func(name string, handler http.Handler) {
		listener := listen()
		addresses[name] = listener.Addr().String()
		go func() { log.Fatal(http.Serve(listener, handler)) }()
	}
	serve("http", plain)
	serve("oci", ociRegistry(folder))
	modules, shell := listen(), listen()
	// The certificate is that of localhost.
	_, port, err := net.SplitHostPort(modules.Addr().String())
	must(err)
	addresses["modules"] = "localhost:" + port
	go func() { log.Fatal(serveTLS(modules, certificate, fakeModuleRegistry(folder))) }()
	addresses["ssh"] = shell.Addr().String()
	must(os.WriteFile(filepath.Join(folder, "known_hosts"), serveSSH(shell, folder), 0o644))

	text, err := json.Marshal(addresses)
	must(err)
	draft := filepath.Join(folder, "hosts.json.new")
	must(os.WriteFile(draft, text, 0o644))
	must(os.Rename(draft, filepath.Join(folder, "hosts.json")))
	select {}
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	return listener
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
