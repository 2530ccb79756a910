package config

import (
	"cmp"
	"fmt"
	"mime"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/registry"
)

// The section of the alerts as it is written.

type alerts struct {
	PublicURL     string         `yaml:"public_url"`
	ClaimWaits    duration       `yaml:"claim_waits"`
	Webhooks      []webhook      `yaml:"webhooks"`
	Alertmanagers []alertmanager `yaml:"alertmanagers"`
}

type webhook struct {
	Name         string                `yaml:"name"`
	URL          hiddenText            `yaml:"url"` // some services make the address itself the secret
	Secret       secretText            `yaml:"secret"`
	Headers      map[string]secretText `yaml:"headers"`
	ContentType  string                `yaml:"content_type"`
	Template     string                `yaml:"template"`
	TemplateFile string                `yaml:"template_file"`
	Send         []string              `yaml:"send"`
}

type alertmanager struct {
	Name     string                `yaml:"name"`
	URL      hiddenText            `yaml:"url"`
	Bearer   secretText            `yaml:"bearer"`
	Username hiddenText            `yaml:"username"`
	Password secretText            `yaml:"password"`
	Headers  map[string]secretText `yaml:"headers"`
	Send     []string              `yaml:"send"`
}

// Bounds of how long a claim may wait before that is alerted, and what switches
// it off.
const (
	minClaimWaits = time.Minute
	maxClaimWaits = 366 * 24 * time.Hour
	claimsOff     = "off"
)

func (c *checker) alerts(written alerts) alert.Settings {
	const p = path("alerts")
	if !c.has(p) {
		return alert.Settings{}
	}
	made := alert.Settings{
		PublicURL: c.address(p.child("public_url"), written.PublicURL), ClaimWaits: alert.DefaultClaimWaits,
	}
	if waits := p.child("claim_waits"); written.ClaimWaits == claimsOff {
		made.ClaimWaits = 0
	} else {
		made.ClaimWaits = cmp.Or(c.duration(waits, written.ClaimWaits, minClaimWaits, maxClaimWaits), made.ClaimWaits)
	}
	if strings.Contains(made.PublicURL, "?") {
		c.complain(p.child("public_url"), "the address has a query", "Leave out the ? and what follows.")
	}
	for i := range written.Webhooks {
		made.Receivers = append(made.Receivers, c.webhook(p.child("webhooks").child(strconv.Itoa(i)), i, &written.Webhooks[i]))
	}
	for i := range written.Alertmanagers {
		made.Receivers = append(made.Receivers, c.alertmanager(p.child("alertmanagers").child(strconv.Itoa(i)), i, &written.Alertmanagers[i]))
	}
	if len(made.Receivers) > alert.MaxReceivers {
		c.complainOfKey(p, fmt.Sprintf("there are more than %d receivers", alert.MaxReceivers), "Remove some.")
	}
	c.distinct(written)
	return made
}

// distinct refuses two receivers of one name.
func (c *checker) distinct(written alerts) {
	seen := map[string]bool{}
	check := func(p path, name string) {
		if seen[name] {
			at := p.child("name")
			if !c.has(at) {
				at = p
			}
			c.complain(at, "another receiver is called "+name, "Choose another name: what was told is kept under it.")
		}
		seen[name] = true
	}
	for i, each := range written.Webhooks {
		check(path("alerts/webhooks").child(strconv.Itoa(i)), cmp.Or(each.Name, numberedName(alert.Webhook, i)))
	}
	for i, each := range written.Alertmanagers {
		check(path("alerts/alertmanagers").child(strconv.Itoa(i)), cmp.Or(each.Name, numberedName(alert.Alertmanager, i)))
	}
}

// numberedName is the name of a receiver that has none.
func numberedName(protocol alert.Protocol, i int) string { return fmt.Sprintf("%s-%d", protocol, i+1) }

func (c *checker) receiverName(p path, name string, protocol alert.Protocol, i int) string {
	if at := p.child("name"); c.has(at) && !c.broken[at] && !registry.IsName(name) {
		c.complain(at, "this is not a name",
			"A name begins with a letter or a digit, goes on with letters, digits, dots, dashes and underscores, is in lower case and has at most 64 characters.")
	}
	return cmp.Or(name, numberedName(protocol, i))
}

func (c *checker) webhook(p path, i int, written *webhook) alert.Receiver {
	c.required(p, "url")
	return alert.Receiver{
		Name: c.receiverName(p, written.Name, alert.Webhook, i), Protocol: alert.Webhook,
		URL: c.receiverURL(p.child("url"), string(written.URL)), Signing: c.secret(p.child("secret"), written.Secret),
		Headers:     c.credentials(p, credentials{Headers: written.Headers}).Headers,
		ContentType: c.contentType(p.child("content_type"), written.ContentType),
		Template:    c.template(p, written), Send: c.kinds(p.child("send"), written.Send),
	}
}

func (c *checker) alertmanager(p path, i int, written *alertmanager) alert.Receiver {
	c.required(p, "url")
	carried := c.credentials(p, credentials{Bearer: written.Bearer, Headers: written.Headers})
	made := alert.Receiver{
		Name: c.receiverName(p, written.Name, alert.Alertmanager, i), Protocol: alert.Alertmanager,
		URL: c.receiverURL(p.child("url"), string(written.URL)), Bearer: carried.Bearer, Headers: carried.Headers,
		Password: c.secret(p.child("password"), written.Password), Send: c.kinds(p.child("send"), written.Send),
	}
	user, password := p.child("username"), p.child("password")
	switch {
	case c.has(user) && !c.has(password):
		c.complainOfKey(user, "username needs password", "Add password: env:NAME.")
	case c.has(password) && !c.has(user):
		c.complainOfKey(password, "password needs username", "Add the key username.")
	case c.has(user) && !c.broken[user]:
		if written.Username == "" {
			c.complain(user, "this is empty", "Write a user, or leave out the key.")
		}
		made.Username = c.secretOrText(user, string(written.Username))
		if _, ok := made.Headers["Authorization"]; ok || c.has(p.child("bearer")) {
			c.complainOfKey(user, "there are two ways to authenticate", "Keep one of username, bearer and the header Authorization.")
		}
	}
	return made
}

// receiverURL is an address, or a reference to one: to know it may be enough to
// post there.
func (c *checker) receiverURL(p path, text string) registry.Secret {
	switch {
	case !c.has(p) || c.broken[p]:
		return registry.Secret{}
	case isReference(text):
		return c.reference(p, text)
	}
	return registry.SecretText(c.address(p, text))
}

func (c *checker) contentType(p path, text string) string {
	if c.text(p, text) == "" {
		return ""
	}
	if kind, _, err := mime.ParseMediaType(text); err != nil || !strings.Contains(kind, "/") {
		c.complain(p, "this is not a content type", "Write one such as text/plain; charset=utf-8, or leave out the key for application/json.")
	}
	return text
}

// template reads and tries the template of a webhook; nil for none.
func (c *checker) template(p path, written *webhook) *alert.Template {
	at, text, file := p.child("template"), written.Template, p.child("template_file")
	switch {
	case c.has(at) && c.has(file):
		c.complainOfKey(file, "template and template_file exclude each other", "Keep one.")
		return nil
	case c.has(file):
		name := c.within(file, written.TemplateFile)
		if c.broken[file] || name == "" {
			return nil
		}
		var err error
		if text, err = readTemplate(name); err != nil {
			c.complain(file, "the template cannot be read: "+err.Error(), "Check the path; it is relative to the folder of this file.")
			return nil
		}
		at = file
	case !c.has(at) || c.broken[at]:
		if c.has(p.child("content_type")) && !c.has(at) {
			c.complainOfKey(p.child("content_type"), "content_type needs a template", "Add template, or leave out the key: messages are JSON.")
		}
		return nil
	}
	made, err := alert.ParseTemplate(text, written.ContentType)
	if err != nil {
		c.complain(at, "this template does not work: "+registry.Shorten(err.Error(), registry.MaxDetail),
			"It is a text/template of Go; docs/ALERTS.md names what it may use.")
	}
	return made
}

// readTemplate reads a regular file.
func readTemplate(name string) (string, error) {
	found, err := os.Stat(name) // before it is opened, since opening a pipe waits
	if err != nil {
		return "", WithoutPath(err)
	}
	if !found.Mode().IsRegular() {
		return "", fmt.Errorf("it is not a regular file")
	}
	return readFile(name, alert.MaxTemplateBytes)
}

// kinds are those that a receiver wants; none for all.
func (c *checker) kinds(p path, written []string) []alert.Kind {
	var kinds []alert.Kind
	for i, text := range written {
		kind := alert.Kind(text)
		switch at := p.child(strconv.Itoa(i)); {
		case c.broken[at]:
		case !slices.Contains(alert.Kinds(), kind):
			c.complain(at, "there is no such kind of alert", "The kinds are component, run and task.")
		case slices.Contains(kinds, kind):
			c.complain(at, "this kind stands here a second time", "Keep one.")
		}
		kinds = append(kinds, kind)
	}
	if c.has(p) && !c.broken[p] && len(written) == 0 {
		c.complain(p, "there is nothing in send", "Name what to send, or leave out the key for all.")
	}
	return kinds
}

// alerts says what is doubtful about the receivers of alerts.
func (r *reviewer) alerts() []Problem {
	var warnings []Problem
	count := map[alert.Protocol]int{}
	for i := range r.Alerts.Receivers {
		receiver := &r.Alerts.Receivers[i]
		p := path("alerts").child(string(receiver.Protocol) + "s").child(strconv.Itoa(count[receiver.Protocol]))
		count[receiver.Protocol]++
		carries := len(receiver.Headers) > 0 || !receiver.Bearer.IsZero() || !receiver.Password.IsZero()
		if address, err := receiver.URL.Reveal(r.resolver.Resolve); err == nil && carries && !confidential(address) {
			warnings = append(warnings, r.doubt(p.child("url"), "the credentials are sent there in the clear", "Use https."))
		}
		if receiver.Signing.IsZero() {
			continue
		}
		if text, err := receiver.Signing.Reveal(r.resolver.Resolve); err == nil {
			if err := alert.CheckSigning(text); err != nil {
				warnings = append(warnings, r.doubt(p.child("secret"), "the secret "+err.Error(),
					`Make one with: echo "whsec_$(openssl rand -base64 32)"`))
			}
		}
	}
	return warnings
}

// ShowReceiver is where a receiver is, as people may see it: the reference, or the
// scheme and the host of its address, whose path may be a secret.
func ShowReceiver(r *alert.Receiver) string {
	if reference := r.URL.Reference(); reference != "" {
		return reference
	}
	text, err := r.URL.Reveal(nil)
	if err != nil {
		return ""
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return ""
	}
	if parsed.Path == "" || parsed.Path == "/" {
		return parsed.Scheme + "://" + parsed.Host
	}
	return parsed.Scheme + "://" + parsed.Host + "/" + leftOut
}
