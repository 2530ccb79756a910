package config

import "encoding/json"

// The sections of the file as they are written. The tag of a field is its key,
// and docs/CONFIGURATION.md has a row for each of them.

// duration is a time with its unit, as time.ParseDuration reads it.
type duration string

// secretText wants to be a reference; what is none is never shown.
type secretText string

// hiddenText may be a secret; it is masked in every excerpt.
type hiddenText string

// size is a number of bytes with its unit.
type size string

// need is whether a run needs a slot; empty when the file does not say.
type need string

type document struct {
	Listen     string               `yaml:"listen"`
	DB         secretText           `yaml:"db"`
	Network    network              `yaml:"network"`
	Components map[string]component `yaml:"components"`
	Slots      map[string]slot      `yaml:"slots"`
	Runs       map[string]run       `yaml:"runs"`
	Retention  retention            `yaml:"retention"`
	Patrol     patrol               `yaml:"patrol"`
	Front      front                `yaml:"front"`
	Alerts     alerts               `yaml:"alerts"`
}

type network struct {
	Allow []string `yaml:"allow"`
	Deny  []string `yaml:"deny"`
}

// component is not a section itself: it has the keys of two.
type component struct {
	shared sharedKeys
	own    ownKeys // nil for what is no set of keys
}

type sharedKeys struct {
	Kind            string   `yaml:"kind"`
	Timeout         duration `yaml:"timeout"`
	Interval        duration `yaml:"interval"`
	TTL             duration `yaml:"ttl"`
	ProbingDeadline duration `yaml:"probing_deadline"`
	Rise            int      `yaml:"rise"`
	Fall            int      `yaml:"fall"`
}

type credentials struct {
	Bearer     secretText            `yaml:"bearer"`
	Headers    map[string]secretText `yaml:"headers"`
	OAuth      *oauth                `yaml:"oauth"`
	ClientCert secretText            `yaml:"client_cert"`
	ClientKey  secretText            `yaml:"client_key"`
}

type oauth struct {
	Issuer       string     `yaml:"issuer"`
	TokenURL     string     `yaml:"token_url"`
	ClientID     string     `yaml:"client_id"`
	ClientSecret secretText `yaml:"client_secret"`
	Scopes       []string   `yaml:"scopes"`
}

type canary struct {
	Tool      string          `yaml:"tool"`
	Arguments json.RawMessage `yaml:"arguments"`
	Expect    expect          `yaml:"expect"`
	Force     bool            `yaml:"force"`
}

type expect struct {
	NotEmpty *bool           `yaml:"not_empty"`
	Matches  string          `yaml:"matches"`
	Path     string          `yaml:"path"`
	Equals   json.RawMessage `yaml:"equals"`
	MinCount *int            `yaml:"min_count"`
}

type slot struct {
	Primary      string   `yaml:"primary"`
	Fallbacks    []string `yaml:"fallbacks"`
	RequireTools []string `yaml:"require_tools"`
	MinVersion   string   `yaml:"min_version"`
	MaxAge       duration `yaml:"max_age"`
}

type run struct {
	Slots map[string]need `yaml:"slots"`
}

type retention struct {
	Raw      duration `yaml:"raw"`
	Hourly   duration `yaml:"hourly"`
	MaxBytes size     `yaml:"max_bytes"`
}

type patrol struct {
	Concurrency int `yaml:"concurrency"`
	PerHost     int `yaml:"per_host"`
}

type front struct {
	Listen string    `yaml:"listen"`
	Test   frontTest `yaml:"test"`
}

type frontTest struct {
	Executables map[string]executable `yaml:"executables"`
	HTTP        map[string]httpCheck  `yaml:"http"`
	Canary      *canary               `yaml:"canary"`
}

type executable struct {
	Path       string   `yaml:"path"`
	Args       []string `yaml:"args"`
	ExitCode   int      `yaml:"exit_code"`
	Matches    string   `yaml:"matches"`
	MinVersion string   `yaml:"min_version"`
	Optional   bool     `yaml:"optional"`
}

type httpCheck struct {
	URL      string `yaml:"url"`
	Status   *int   `yaml:"status"`
	Optional bool   `yaml:"optional"`
}
