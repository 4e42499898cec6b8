package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

// Ports are chosen between this one and the range from which the kernel chooses
// ports for outgoing connections. Such a connection could have the port of a
// killed server when that server restarts.
const lowestPort = 10000

const portAttempts = 1000

// freePort finds a port on which no server listens.
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
