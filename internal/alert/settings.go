package alert

import (
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// MaxReceivers is how many receivers there may be. Each is sent one thing at a
// time, so that this is also how many deliveries are in flight.
const MaxReceivers = 8

// Protocol is how a receiver is notified.
type Protocol string

// The protocols.
const (
	Webhook      Protocol = "webhook"
	Alertmanager Protocol = "alertmanager"
)

// Settings is what is configured. Without receivers nothing is alerted.
type Settings struct {
	PublicURL  string        // what links begin with; empty for the URL of the server itself
	ClaimWaits time.Duration // how long a claim may wait; 0 alerts no claims
	Receivers  []Receiver
}

// Receiver is somebody who is notified.
type Receiver struct {
	Name     string // unique; deliveries are kept under it
	Protocol Protocol
	URL      registry.Secret // of a webhook in full; the base of an Alertmanager
	// Signing is the key by which messages of a webhook are signed, as Standard
	// Webhooks writes it; zero for none.
	Signing     registry.Secret
	Headers     map[string]registry.Secret // in their canonical form
	Bearer      registry.Secret            // zero for none
	Username    registry.Secret            // with Password; zero for none
	Password    registry.Secret
	ContentType string    // of a webhook; empty for application/json
	Template    *Template // of a webhook; nil for the message as it is
	Send        []Kind    // which kinds it wants; none for all
}

// wants reports whether alerts of a kind are for this receiver.
func (r *Receiver) wants(kind Kind) bool {
	return len(r.Send) == 0 || kind == OfAlerts || slices.Contains(r.Send, kind)
}

// names returns those of the receivers.
func (s *Settings) names() []string {
	names := make([]string, len(s.Receivers))
	for i := range s.Receivers {
		names[i] = s.Receivers[i].Name
	}
	return names
}

// wanted reports whether any receiver wants a kind.
func (s *Settings) wanted(kind Kind) bool {
	return slices.ContainsFunc(s.Receivers, func(r Receiver) bool { return r.wants(kind) })
}
