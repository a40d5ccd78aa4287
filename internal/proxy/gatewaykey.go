package proxy

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"docket/internal/capture"
	"docket/internal/record"
)

// minGatewayKey is the length from which a key cannot be guessed, if it is
// random.
const minGatewayKey = 16

// GatewayKey is a key by which clients show that they may call Docket.
type GatewayKey struct {
	Key     record.Secret `yaml:"key" doc:"the key, at least 16 characters"`
	SHA256  string        `yaml:"sha256" doc:"or its SHA-256 in hex, so that the settings do not hold it"`
	Project string        `yaml:"project" doc:"project of its calls, whatever Docket-Project says; empty leaves that to the client"`
}

func (k GatewayKey) validate() error {
	if k.Key.IsZero() == (k.SHA256 == "") {
		return errors.New("key, sha256: one of them must be set")
	}
	if key := k.Key.Reveal(); key != "" && (len(key) < minGatewayKey || !isFieldValue(key) || strings.Contains(key, " ")) {
		return fmt.Errorf("key: must be one word of at least %d characters", minGatewayKey)
	}
	if b, err := hex.DecodeString(k.SHA256); k.SHA256 != "" && (err != nil || len(b) != sha256.Size) {
		return errors.New("sha256: must be 64 hex digits, as sha256sum prints them")
	}
	return nil
}

// hash of the key. The key itself is not kept.
func (k GatewayKey) hash() [sha256.Size]byte {
	if key := k.Key.Reveal(); key != "" {
		return sha256.Sum256([]byte(key))
	}
	var out [sha256.Size]byte
	_, _ = hex.Decode(out[:], []byte(k.SHA256)) // validate has done it once
	return out
}

func (c Config) validateKeys() error {
	seen := map[[sha256.Size]byte]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Keys)) {
		k := c.Keys[name]
		if err := k.validate(); err != nil {
			return fmt.Errorf("keys.%s.%w", name, err)
		}
		if other, ok := seen[k.hash()]; ok {
			return fmt.Errorf("keys.%s: is the key of keys.%s already", name, other)
		}
		seen[k.hash()] = name
	}
	return nil
}

// caller is who calls, as far as keys tell.
type caller struct {
	key     string // name of the gateway key, "" when there are none
	project string
	fields  []string // request fields that hold a gateway key; they go no further
	params  []string // so do these parameters of the query
	inOffer bool     // and the subprotocols that a WebSocket's client offers
}

// keyring knows the gateway keys. Without any, everybody may call.
type keyring struct{ keys []gatewayKey }

type gatewayKey struct {
	name, project string
	hash          [sha256.Size]byte
}

func newKeyring(keys map[string]GatewayKey) *keyring {
	r := &keyring{}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		r.keys = append(r.keys, gatewayKey{name, keys[name].Project, keys[name].hash()})
	}
	return r
}

// find compares with every key, so that the time says nothing about them.
func (r *keyring) find(value string) (found gatewayKey, ok bool) {
	hash := sha256.Sum256([]byte(value))
	for _, k := range r.keys {
		if subtle.ConstantTimeCompare(hash[:], k.hash[:]) == 1 {
			found, ok = k, true
		}
	}
	return found, ok
}

// authenticate finds the gateway key of a request: Docket-Key, else the first of
// the fields in which clients send keys. ok is false when the request shows no
// key that is known; shown says whether it shows any.
func (r *keyring) authenticate(h http.Header, query string) (c caller, shown, ok bool) {
	if len(r.keys) == 0 {
		return caller{}, false, true
	}
	take := func(value string) bool {
		if value == "" {
			return false
		}
		shown = true
		k, known := r.find(value)
		if known && !ok {
			c.key, c.project, ok = k.name, k.project, true
		}
		return known
	}
	for _, name := range append([]string{capture.HeaderKey}, keyFields()...) {
		for _, value := range h[name] {
			if take(withoutScheme(value)) && !slices.Contains(c.fields, name) {
				c.fields = append(c.fields, name)
			}
		}
		if name == capture.HeaderKey && shown && !ok {
			return c, true, false // it is meant for us, whatever else there is
		}
	}
	for _, value := range realtimeKeys(h) {
		c.inOffer = take(value) || c.inOffer
	}
	for name, value := range credentialParams(query) {
		if take(value) {
			c.params = append(c.params, name)
		}
	}
	return c, shown, ok
}

// withoutScheme takes Bearer off.
func withoutScheme(v string) string {
	if scheme, rest, found := strings.Cut(v, " "); found && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(rest)
	}
	return strings.TrimSpace(v)
}
