package alert

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	contentJSON = "application/json"
	// minKey is how long a key to sign with is at least, by Standard Webhooks.
	minKey = 24
	// keepFiring is how long an Alertmanager takes an alert to fire that it is not
	// sent again, and remindEvery how often it is sent.
	keepFiring  = 5 * time.Minute
	remindEvery = time.Minute
	// maxBatch is how many alerts an Alertmanager is sent at once.
	maxBatch = 32
)

// unsent says that a request could not even be made. Final is whether that cannot
// change by itself.
type unsent struct {
	error

	final bool
}

// hint says what to do: what is missing now is a secret or an address.
func (u unsent) hint() string {
	if u.final {
		return "Correct the template of the receiver, or make shorter what it says."
	}
	return hintSecret
}

// maker makes the requests for one receiver. Secrets are read anew for each.
type maker struct {
	receiver *Receiver
	public   string
	resolve  func(reference string) (string, error)
}

// request makes what is posted to a receiver: of one alert for a webhook.
func (m maker) request(batch []pending, now time.Time) (*request, error) {
	var made request
	var err error
	if m.receiver.Protocol == Alertmanager {
		made.body, err = alertmanagerBody(batch, m.public, now)
	} else {
		made.body, err = m.webhookBody(&batch[0])
	}
	switch {
	case err != nil:
		return nil, unsent{err, true}
	case len(made.body) > maxPayload:
		return nil, unsent{errLong, true}
	}
	if made.url, err = m.address(); err != nil {
		return nil, unsent{err, false}
	}
	if made.header, err = m.header(); err != nil {
		return nil, unsent{err, false}
	}
	if !m.receiver.Signing.IsZero() {
		message := messageOf(&batch[0].alert, m.public)
		if err := m.sign(&made, message.ID, now); err != nil {
			return nil, unsent{err, false}
		}
	}
	return &made, nil
}

func (m maker) webhookBody(p *pending) ([]byte, error) {
	message := messageOf(&p.alert, m.public)
	if m.receiver.Template == nil {
		return json.Marshal(message)
	}
	body, err := m.receiver.Template.render(&message, m.receiver.ContentType)
	if err != nil {
		return nil, fmt.Errorf("its template fails: %w", err)
	}
	return body, nil
}

// address is where to post to.
func (m maker) address() (string, error) {
	text, err := m.receiver.URL.Reveal(m.lookUp)
	if err != nil {
		return "", err
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" {
		return "", errors.New("its url is not an address that begins with http:// or https://")
	}
	if m.receiver.Protocol == Alertmanager {
		parsed = parsed.JoinPath("api", "v2", "alerts")
	}
	return parsed.String(), nil
}

// header is what each request carries beside a signature.
func (m maker) header() (http.Header, error) {
	r := m.receiver
	header := http.Header{"User-Agent": {"countersign"}, "Content-Type": {contentJSON}}
	if r.ContentType != "" {
		header.Set("Content-Type", r.ContentType)
	}
	for name, secret := range r.Headers {
		value, err := m.reveal("the header "+name, secret)
		if err != nil {
			return nil, err
		}
		header.Set(name, value)
	}
	if !r.Bearer.IsZero() {
		token, err := m.reveal("the bearer token", r.Bearer)
		if err != nil {
			return nil, err
		}
		header.Set("Authorization", "Bearer "+token)
	}
	if !r.Username.IsZero() {
		user, err := m.reveal("the username", r.Username)
		if err != nil {
			return nil, err
		}
		password, err := m.reveal("the password", r.Password)
		if err != nil {
			return nil, err
		}
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	return header, nil
}

// lookUp resolves a reference. Of a fault it keeps what people are to read.
func (m maker) lookUp(reference string) (string, error) {
	text, err := m.resolve(reference)
	if coded, ok := fault.Of(err); ok {
		err = errors.New(coded.Message)
	}
	return text, err
}

// reveal reads a secret that goes into a header; what is to be found is said by use.
func (m maker) reveal(use string, secret registry.Secret) (string, error) {
	text, err := secret.Reveal(m.lookUp)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", use, err)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return "", fmt.Errorf("%s (%v) holds characters that no header may have", use, secret)
	}
	return text, nil
}

// sign adds the headers of Standard Webhooks.
func (m maker) sign(made *request, id string, now time.Time) error {
	text, err := m.receiver.Signing.Reveal(m.lookUp)
	if err != nil {
		return fmt.Errorf("the secret to sign with: %w", err)
	}
	if err := CheckSigning(text); err != nil {
		return fmt.Errorf("the secret to sign with (%v) %w", m.receiver.Signing, err)
	}
	signer, err := standardwebhooks.NewWebhook(text)
	if err != nil {
		return errNotBase64
	}
	signature, err := signer.Sign(id, now, made.body)
	if err != nil {
		return errors.New("the message cannot be signed")
	}
	made.header.Set(standardwebhooks.HeaderWebhookID, id)
	made.header.Set(standardwebhooks.HeaderWebhookTimestamp, fmt.Sprint(now.Unix()))
	made.header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return nil
}

var (
	errNotBase64 = errors.New("is not in base64, with or without whsec_ before it")
	errShortKey  = fmt.Errorf("has fewer than %d bytes", minKey)
)

// CheckSigning says what is wrong with a secret to sign with, without repeating it.
func CheckSigning(text string) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	switch {
	case err != nil:
		return errNotBase64
	case len(key) < minKey:
		return errShortKey
	}
	return nil
}

// postable is an alert as API v2 of Alertmanager takes it.
type postable struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     string            `json:"startsAt"`
	EndsAt       string            `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
}

func alertmanagerBody(batch []pending, public string, now time.Time) ([]byte, error) {
	posted := make([]postable, len(batch))
	for i := range batch {
		posted[i] = postableOf(&batch[i].alert, public, now)
	}
	return json.Marshal(posted)
}

// postableOf is an alert with its labels, which stay the same for as long as it
// fires: by them an Alertmanager knows it again.
func postableOf(a *Alert, public string, now time.Time) postable {
	ends := a.EndedAt
	if a.State == Firing {
		ends = now.Add(keepFiring)
	}
	p := postable{
		Labels: map[string]string{"severity": severityOf(a.Kind)}, Annotations: map[string]string{},
		StartsAt: registry.Timestamp(a.Since), EndsAt: registry.Timestamp(ends), GeneratorURL: pageOf(a, public),
	}
	switch a.Kind {
	case OfComponent:
		p.Labels["alertname"], p.Labels["component"] = "CountersignComponentUnavailable", a.Subject
	case OfRun:
		p.Labels["alertname"], p.Labels["run"] = "CountersignStartedOnFallback", a.Subject
	case OfTask:
		if p.Labels["alertname"] = "CountersignClaimWaits"; a.Subject != ofMany {
			p.Labels["task_id"] = a.Subject
		}
	case OfAlerts:
		p.Labels["alertname"] = "CountersignTooManyAlerts"
	case OfTest:
		p.Labels["alertname"] = "CountersignTest"
	}
	for name, value := range map[string]string{"kind": string(a.Content.Component), "cause": string(firstCause(a.Content.Causes))} {
		if value != "" {
			p.Labels[name] = value
		}
	}
	for name, value := range map[string]string{"summary": a.Summary(), "description": describe(a), "hint": hintOf(a)} {
		if value != "" {
			p.Annotations[name] = value
		}
	}
	return p
}

// describe is what an alert says beside its summary.
func describe(a *Alert) string {
	var parts []string
	for _, slot := range a.Content.Slots {
		part := []string{slot.Slot + " is filled by " + slot.Component}
		for _, failed := range slot.Failed {
			part = append(part, failed.Component+" failed: "+failed.Reason)
		}
		parts = append(parts, strings.Join(part, "; "))
	}
	if len(parts) == 0 && a.Content.Reason != "" {
		parts = append(parts, a.Content.Reason)
	}
	if a.Content.Title != "" {
		parts = append(parts, fmt.Sprintf("%s claimed: %s", a.Content.ClaimedBy, a.Content.Title))
	}
	return registry.Shorten(strings.Join(parts, "\n"), maxDescription)
}

// maxDescription bounds a description, so that a batch fits into one request.
const maxDescription = 1000 // bytes
