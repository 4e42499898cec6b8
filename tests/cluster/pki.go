package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Longer than any test; the cluster and its certificates go away together.
const certificateLife = 7 * 24 * time.Hour

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// pki is the cluster's own certificate authorities and their files.
type pki struct {
	ca *authority

	caFile, caKeyFile         string
	serverFile, serverKeyFile string
	accountKeyFile            string // signs and checks ServiceAccount tokens

	// kube-apiserver's certificate as the front proxy of extension servers. It
	// has an authority of its own: an extension server believes what a client
	// with such a certificate says about users.
	proxyCAFile, proxyFile, proxyKeyFile string
}

// proxyName is the only name that extension servers accept in the certificate
// of a front proxy.
const proxyName = "front-proxy-client"

// newPKI makes fresh certificates and keys in dir.
func newPKI(dir string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &pki{
		caFile:         filepath.Join(dir, "ca.crt"),
		caKeyFile:      filepath.Join(dir, "ca.key"),
		serverFile:     filepath.Join(dir, "server.crt"),
		serverKeyFile:  filepath.Join(dir, "server.key"),
		accountKeyFile: filepath.Join(dir, "service-account.key"),
		proxyCAFile:    filepath.Join(dir, "front-proxy-ca.crt"),
		proxyFile:      filepath.Join(dir, "front-proxy-client.crt"),
		proxyKeyFile:   filepath.Join(dir, "front-proxy-client.key"),
	}
	for _, step := range []func() error{p.makeAuthority, p.makeServer, p.makeAccountKey, p.makeProxy} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// newAuthority makes an authority that calls itself name.
func newAuthority(name string) (*authority, error) {
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage |= x509.KeyUsageCertSign

	a := &authority{}
	if a.key, err = newKey(); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	a.pem = encodePEM("CERTIFICATE", der)
	a.cert, err = x509.ParseCertificate(der)
	return a, err
}

func (p *pki) makeAuthority() (err error) {
	if p.ca, err = newAuthority("kubecluster"); err != nil {
		return err
	}
	keyPEM, err := encodeKey(p.ca.key)
	if err != nil {
		return err
	}
	return writePair(p.caFile, p.ca.pem, p.caKeyFile, keyPEM)
}

// makeServer makes the certificate that all servers of the cluster use.
func (p *pki) makeServer() error {
	template, err := newTemplate(pkix.Name{CommonName: "localhost"})
	if err != nil {
		return err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}

	cert, key, err := p.ca.sign(template)
	if err != nil {
		return err
	}
	return writePair(p.serverFile, cert, p.serverKeyFile, key)
}

// makeProxy makes the front proxy's authority, whose key is not kept.
func (p *pki) makeProxy() error {
	ca, err := newAuthority("kubecluster-front-proxy")
	if err != nil {
		return err
	}
	cert, key, err := ca.newClient(proxyName)
	if err != nil {
		return err
	}
	if err = os.WriteFile(p.proxyCAFile, ca.pem, 0o644); err != nil {
		return err
	}
	return writePair(p.proxyFile, cert, p.proxyKeyFile, key)
}

func (p *pki) makeAccountKey() error {
	key, err := newKey()
	if err != nil {
		return err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(p.accountKeyFile, keyPEM, 0o600)
}

// newClient returns the PEM certificate and key of a client whose servers know
// it as user, a member of groups.
func (a *authority) newClient(user string, groups ...string) (cert, key []byte, err error) {
	template, err := newTemplate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return nil, nil, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (cert, key []byte, err error) {
	private, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	key, err = encodeKey(private)
	return encodePEM("CERTIFICATE", der), key, err
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour), // clocks of virtual machines step
		NotAfter:     now.Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// encodeKey uses the older form: kube-apiserver finds the public key only in
// such a file.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	return encodePEM("EC PRIVATE KEY", der), err
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func writePair(certFile string, cert []byte, keyFile string, key []byte) error {
	if err := os.WriteFile(certFile, cert, 0o644); err != nil {
		return err
	}
	return os.WriteFile(keyFile, key, 0o600)
}
