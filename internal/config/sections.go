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

type document struct {
	Listen     string               `yaml:"listen"`
	DB         secretText           `yaml:"db"`
	Network    network              `yaml:"network"`
	Components map[string]component `yaml:"components"`
	Front      front                `yaml:"front"`
}

type network struct {
	Allow []string `yaml:"allow"`
	Deny  []string `yaml:"deny"`
}

type component struct {
	Kind         string                `yaml:"kind"`
	URL          string                `yaml:"url"`
	MCPURL       string                `yaml:"mcp_url"`
	Command      []hiddenText          `yaml:"command"`
	Env          map[string]hiddenText `yaml:"env"`
	CWD          string                `yaml:"cwd"`
	Profile      string                `yaml:"profile"`
	Timeout      duration              `yaml:"timeout"`
	Interval     duration              `yaml:"interval"`
	Credentials  credentials           `yaml:"credentials"`
	RequireTools []string              `yaml:"require_tools"`
	ExpectServer string                `yaml:"expect_server"`
	Canary       *canary               `yaml:"canary"`
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
