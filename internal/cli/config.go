package cli

import (
	"github.com/countersign-dev/countersign/internal/config"
)

// configCommand is about the configuration file itself.
type configCommand struct {
	Check configCheckCommand `cmd:"" help:"Check a configuration file, and say all that is wrong with it."`
}

// configFlag says which configuration file a command reads.
type configFlag struct {
	Config string `help:"Configuration file. By default ./countersign.yaml, else countersign/countersign.yaml below XDG_CONFIG_HOME or ~/.config; without one, defaults." name:"config" placeholder:"FILE"`
}

// load reads the file; without one, everything is left out.
// Faults: those of config.Load.
func (f configFlag) load(p *process) (*config.Config, error) {
	file := config.Find(f.Config, p.Getenv)
	if file == "" {
		return config.Default(), nil
	}
	return config.Load(file)
}

// resolver reads secrets from the environment of the process and from files.
func (p *process) resolver() config.Resolver { return config.Resolver{Lookup: p.lookup} }

// lookup tells a variable that is unset, or set to nothing, from others.
func (p *process) lookup(name string) (value string, ok bool) {
	value = p.Getenv(name)
	return value, value != ""
}
