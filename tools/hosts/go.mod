module ashlar.dev/tools/hosts

go 1.26.8

require (
	github.com/google/go-containerregistry v0.21.6
	golang.org/x/crypto v0.54.0
)

require golang.org/x/sys v0.47.0 // indirect
