package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

// Ports are taken from here up to where the kernel's own choices begin. The
// kernel hands its range to outgoing connections, and one of those could sit
// on a killed server's port when that server comes back.
const lowestPort = 10000

const portAttempts = 1000

// freePort finds a port nobody listens on.
func freePort() (int, error) {
	end := ephemeralPortsBegin()
	for range portAttempts {
		port := lowestPort + rand.IntN(end-lowestPort)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, errors.New("no free port found on 127.0.0.1")
}

func ephemeralPortsBegin() int {
	const linuxDefault = 32768

	var begin, end int
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return linuxDefault
	}
	if _, err = fmt.Sscan(string(text), &begin, &end); err != nil || begin < 2*lowestPort {
		return linuxDefault
	}
	return begin
}
