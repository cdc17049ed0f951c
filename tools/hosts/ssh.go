package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// serveSSH lets the keys in authorized_keys run git-upload-pack and nothing else; it returns a line for known_hosts.
func serveSSH(listener net.Listener, folder string) []byte {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(err)
	host, err := ssh.NewSignerFromKey(key)
	must(err)
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, given ssh.PublicKey) (*ssh.Permissions, error) {
			rest, _ := os.ReadFile(filepath.Join(folder, "authorized_keys"))
			for len(rest) > 0 {
				var known ssh.PublicKey
				var err error
				if known, _, _, rest, err = ssh.ParseAuthorizedKey(rest); err != nil {
					break
				}
				if bytes.Equal(known.Marshal(), given.Marshal()) {
					return nil, nil
				}
			}
			return nil, fmt.Errorf("the key is not known")
		},
	}
	config.AddHostKey(host)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must(err)
	known, err := ssh.NewPublicKey(public)
	must(err)
	must(os.WriteFile(filepath.Join(folder, "authorized_keys"), ssh.MarshalAuthorizedKey(known), 0o644))
	block, err := ssh.MarshalPrivateKey(private, "")
	must(err)
	must(os.WriteFile(filepath.Join(folder, "deploy_key"), pem.EncodeToMemory(block), 0o600))
	go func() {
		for {
			connection, err := listener.Accept()
			must(err)
			go talk(connection, config, filepath.Join(folder, "git"))
		}
	}()
	return []byte(knownhosts.Line([]string{listener.Addr().String()}, host.PublicKey()) + "\n")
}

func talk(connection net.Conn, config *ssh.ServerConfig, repositories string) {
	defer connection.Close()
	_, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		if offered.ChannelType() != "session" {
			_ = offered.Reject(ssh.UnknownChannelType, "sessions only")
			continue
		}
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go session(channel, requests, repositories)
	}
}

func session(channel ssh.Channel, requests <-chan *ssh.Request, repositories string) {
	defer channel.Close()
	protocol := ""
	for request := range requests {
		switch request.Type {
		case "env":
			var variable struct{ Name, Value string }
			if ssh.Unmarshal(request.Payload, &variable) == nil && variable.Name == "GIT_PROTOCOL" {
				protocol = variable.Value
			}
			_ = request.Reply(true, nil)
		case "exec":
			var order struct{ Command string }
			err := ssh.Unmarshal(request.Payload, &order)
			path, wanted := strings.CutPrefix(order.Command, "git-upload-pack ")
			if err != nil || !wanted {
				_ = request.Reply(false, nil)
				return
			}
			_ = request.Reply(true, nil)
			// Only the name counts, so nothing leads out of the folder.
			name := filepath.Base(strings.Trim(path, "'\" "))
			status := uploadPack(channel, filepath.Join(repositories, name), protocol)
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
			return
		default:
			_ = request.Reply(false, nil)
		}
	}
}

func uploadPack(channel ssh.Channel, repository, protocol string) uint32 {
	command := exec.Command("git-upload-pack", repository)
	command.Env = append(os.Environ(), "GIT_PROTOCOL="+protocol)
	command.Stdout, command.Stderr = channel, channel.Stderr()
	// Not command.Stdin: the client may keep its side open until the program has ended.
	input, err := command.StdinPipe()
	if err != nil || command.Start() != nil {
		return 1
	}
	go func() {
		_, _ = io.Copy(input, channel)
		_ = input.Close()
	}()
	if command.Wait() != nil {
		return 1
	}
	return 0
}
