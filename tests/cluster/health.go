package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"
)

const (
	healthPeriod  = 100 * time.Millisecond
	healthTimeout = 5 * time.Second
)

// newHealthClient trusts the cluster's own certificate authority. It has no
// identity, as health is served without authentication.
func newHealthClient(caPEM []byte) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(caPEM)
	return &http.Client{
		Timeout: healthTimeout,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			// A connection that is kept may lead to a server that was killed.
			DisableKeepAlives: true,
		},
	}
}

func isHealthy(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// poll calls done until it returns true. It returns false if ctx ends first.
func poll(ctx context.Context, done func() bool) bool {
	ticker := time.NewTicker(healthPeriod)
	defer ticker.Stop()
	for {
		if done() {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}
