package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
)

func (t UpstreamTLS) validate() error {
	if !slices.Contains([]string{"", "1.2", "1.3"}, t.MinVersion) {
		return fmt.Errorf("min_version: %q: must be 1.2 or 1.3", t.MinVersion)
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return errors.New("cert_file, key_file: must both be set, or none")
	}
	return nil
}

// client reads the files.
func (t UpstreamTLS) client() (*tls.Config, error) {
	c := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.InsecureSkipVerify}
	if t.MinVersion == "1.3" {
		c.MinVersion = tls.VersionTLS13
	}
	var err error
	if c.RootCAs, err = trusted(t.CAFile); err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	if t.CertFile == "" {
		return c, nil
	}
	pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("cert_file, key_file: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// trusted adds the certificates of a file to the system's. nil is the system's.
func trusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("there is no PEM certificate in the file")
	}
	return pool, nil
}
