package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of the keys of a harness.
const (
	MaxAllowances  = 1000
	MaxReportFiles = 16

	minScanAge = time.Minute
	maxScanAge = 10 * 366 * 24 * time.Hour
)

// harness is the keys of the kind harness.
type harness struct {
	Image       string              `yaml:"image"`
	Credentials registryCredentials `yaml:"credentials"`
	Scan        scan                `yaml:"scan"`
	Signature   signature           `yaml:"signature"`
}

type registryCredentials struct {
	Bearer         secretText `yaml:"bearer"`
	Username       hiddenText `yaml:"username"`
	Password       secretText `yaml:"password"`
	DockerKeychain bool       `yaml:"docker_keychain"`
}

type scan struct {
	MaxAge                 duration    `yaml:"max_age"`
	DatabaseMaxAge         duration    `yaml:"database_max_age"`
	FailOn                 string      `yaml:"fail_on"`
	Allow                  []allowance `yaml:"allow"`
	AcceptUnprovenCoverage bool        `yaml:"accept_unproven_coverage"`
	Reports                []string    `yaml:"reports"`
}

type allowance struct {
	ID    string `yaml:"id"`
	Until string `yaml:"until"`
}

type signature struct {
	Key string `yaml:"key"`
}

// ofHarnesses is their row of the table.
func ofHarnesses() kind {
	return kind{
		name: registry.KindHarness, keys: func() ownKeys { return new(harness) },
		doubts: doubtsOfHarness, shown: shownOfHarness,
	}
}

// spec implements ownKeys.
func (written *harness) spec(c *checker, p path) registry.Spec {
	c.required(p, "image")
	made := &registry.Harness{
		Image:       c.image(p.child("image"), written.Image),
		Credentials: c.registryCredentials(p.child("credentials"), written.Credentials),
		Scan:        c.scan(p.child("scan"), written.Scan),
	}
	key := p.child("signature").child("key")
	switch text := c.text(key, written.Signature.Key); {
	case text == "":
		if c.has(p.child("signature")) && !c.has(key) {
			c.required(p.child("signature"), "key")
		}
	case strings.HasPrefix(text, "-----BEGIN"):
		c.complain(key, "the key itself stands here", "Put it into a file, and write its path here.")
	case isReference(text):
		made.SignatureKey = c.reference(key, text)
	default:
		made.SignatureKey = c.reference(key, schemeFile+":"+text)
	}
	return made
}

// image is a reference that is pinned by a digest.
func (c *checker) image(p path, text string) string {
	if !c.has(p) || c.text(p, text) == "" {
		return ""
	}
	_, err := registry.ParseImage(text)
	switch {
	case errors.Is(err, registry.ErrUnpinned):
		c.complain(p, err.Error(), "Write REGISTRY/NAME@sha256:... as docker push or docker inspect tells it; what a tag points at may change.")
	case err != nil:
		c.complain(p, err.Error(), "Write it as REGISTRY/NAME@sha256:..., or with a tag as REGISTRY/NAME:TAG@sha256:....")
	}
	return text
}

func (c *checker) registryCredentials(p path, written registryCredentials) registry.ImageCredentials {
	made := registry.ImageCredentials{
		Bearer:   c.secret(p.child("bearer"), written.Bearer),
		Password: c.secret(p.child("password"), written.Password),
		Keychain: written.DockerKeychain,
	}
	hasUser, hasPassword := c.has(p.child("username")), c.has(p.child("password"))
	if hasUser && !c.broken[p.child("username")] {
		if text := string(written.Username); text == "" {
			c.complain(p.child("username"), "this is empty", "Write a user, or leave out the key.")
		} else {
			made.Username = c.secretOrText(p.child("username"), text)
		}
	}
	switch {
	case hasUser && !hasPassword:
		c.complainOfKey(p.child("username"), "username needs password", "Add password: env:NAME.")
	case hasPassword && !hasUser:
		c.complainOfKey(p.child("password"), "password needs username", "Add the key username.")
	}
	var ways []string
	for key, given := range map[string]bool{"bearer": c.has(p.child("bearer")), "username": hasUser || hasPassword, "docker_keychain": made.Keychain} {
		if given {
			ways = append(ways, key)
		}
	}
	if slices.Sort(ways); len(ways) > 1 {
		c.complainOfKey(p, strings.Join(ways, " and ")+" exclude each other", "Keep one.")
	}
	return made
}

func (c *checker) scan(p path, written scan) registry.Scan {
	made := registry.Scan{
		MaxAge:                 c.duration(p.child("max_age"), written.MaxAge, minScanAge, maxScanAge),
		DatabaseMaxAge:         c.duration(p.child("database_max_age"), written.DatabaseMaxAge, minScanAge, maxScanAge),
		FailOn:                 c.severity(p.child("fail_on"), written.FailOn),
		AcceptUnprovenCoverage: written.AcceptUnprovenCoverage,
	}
	if len(written.Allow) > MaxAllowances {
		c.complain(p.child("allow"), "there are more than "+strconv.Itoa(MaxAllowances)+" entries", "Update what has so many findings.")
		return made
	}
	seen := map[string]bool{}
	for i, each := range written.Allow {
		at := p.child("allow").child(strconv.Itoa(i))
		c.required(at, "id", "until")
		id := c.text(at.child("id"), each.ID)
		if folded := strings.ToLower(id); id != "" && seen[folded] {
			c.complain(at.child("id"), "this stands in the list a second time", "Keep one.")
		} else {
			seen[folded] = true
		}
		made.Allow = append(made.Allow, registry.Allowance{ID: id, Until: c.endOfDay(at.child("until"), each.Until)})
	}
	if len(written.Reports) > MaxReportFiles {
		c.complain(p.child("reports"), "there are more than "+strconv.Itoa(MaxReportFiles)+" files", "Name the newest.")
		return made
	}
	for i, each := range written.Reports {
		if at := p.child("reports").child(strconv.Itoa(i)); c.text(at, each) != "" {
			made.Reports = append(made.Reports, c.within(at, each))
		}
	}
	return made
}

func (c *checker) severity(p path, written string) registry.Severity {
	if !c.has(p) || c.broken[p] {
		return ""
	}
	if severity := registry.Severity(written); slices.Contains(registry.Severities(), severity) {
		return severity
	}
	var names []string
	for _, each := range registry.Severities() {
		names = append(names, string(each))
	}
	c.complain(p, "there is no such severity", "The severities are "+strings.Join(names, ", ")+".")
	return ""
}

// endOfDay is the moment at which a day in UTC is over.
func (c *checker) endOfDay(p path, written string) time.Time {
	if !c.has(p) || c.broken[p] {
		return time.Time{}
	}
	begin, err := time.Parse(time.DateOnly, written)
	if err != nil {
		c.complain(p, "this is not a day", "Write one such as 2027-01-31; the entry counts to its end in UTC.")
		return time.Time{}
	}
	return begin.AddDate(0, 0, 1)
}

// shownOfHarness is the image.
func shownOfHarness(spec registry.Spec) Shown {
	if made, ok := spec.(*registry.Harness); ok {
		return Shown{Target: made.Image}
	}
	return Shown{}
}

func doubtsOfHarness(r *reviewer, p path, component *registry.Component) []Problem {
	made, ok := component.Spec.(*registry.Harness)
	if !ok {
		return nil
	}
	var warnings []Problem
	if made.Scan.MaxAge == 0 {
		warnings = append(warnings, r.doubtOfKey(p, "a scan of any age will do, although what is known of an image grows", "Add scan: {max_age: 168h}."))
	}
	if made.Scan.AcceptUnprovenCoverage {
		warnings = append(warnings, r.doubt(p.child("scan").child("accept_unproven_coverage"),
			"a report that has looked at nothing passes, degraded", "Attach the JSON of Trivy with its packages, and leave out the key."))
	}
	return warnings
}
