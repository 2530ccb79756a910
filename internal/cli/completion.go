package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// completionCommand prints what makes a shell ask this program.
type completionCommand struct {
	Shell string `arg:"" help:"The shell: bash, zsh or fish." enum:"bash,zsh,fish" name:"shell"`
}

// Help is what completion --help says beyond its one line.
func (*completionCommand) Help() string {
	return "Prints a script for the shell. In bash: source <(countersign completion bash), also at the end of ~/.bashrc. In zsh: the same with zsh, " +
		"at the end of ~/.zshrc. In fish: countersign completion fish | source, also in ~/.config/fish/config.fish. " +
		"Names of components and runs are those of the configuration file."
}

// Run prints the script.
func (c *completionCommand) Run(p *process) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find where this program is: %w", err)
	}
	// Bash and zsh read the command twice: with the script, and whenever they ask.
	script := fmt.Sprintf("complete -o default -o bashdefault -C %s countersign\n", forShellWord(forShellWord(program)))
	switch c.Shell {
	case "zsh":
		script = "autoload -Uz compinit bashcompinit && { whence compdef >/dev/null || compinit; } && bashcompinit\n" + script
	case "fish":
		script = "complete -c countersign -f -a " + forFishWord("(COMP_LINE=(commandline -cp) "+forFishWord(program)+")") + "\n"
	}
	if p.JSON {
		return printJSON(p.Out, struct {
			Shell  string `json:"shell"`
			Script string `json:"script"`
		}{c.Shell, script})
	}
	_, err = io.WriteString(p.Out, script)
	return err
}

// forFishWord is a text as one word for fish.
func forFishWord(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// completionLine is the variable in which a shell gives what was typed so far.
const completionLine = "COMP_LINE"

// isCompletion reports whether a shell asks what could be typed next. Bash and zsh
// give the name of the program, the word and the one before it as arguments, fish
// none; a command that merely inherits the variable has others.
func isCompletion(args []string, around Surroundings) bool {
	if around.Getenv(completionLine) == "" {
		return false
	}
	return len(args) == 0 || len(args) == 3 && strings.HasPrefix(filepath.Base(args[0]), programName)
}

// complete tells a shell what could be typed next.
func (c completing) complete(parser *kong.Kong) {
	commands, err := kongcompletion.Command(parser, kongcompletion.WithPredictors(map[string]complete.Predictor{
		"component":  complete.PredictFunc(c.components),
		"run":        complete.PredictFunc(c.runs),
		"kind":       complete.PredictSet(texts(registry.Kinds())...),
		"status":     complete.PredictSet(texts(registry.Statuses())...),
		"taskorder":  complete.PredictSet(task.OrderNewest, task.OrderOldest),
		"taskstatus": complete.PredictSet(texts(task.Statuses())...),
		"verdict":    complete.PredictSet(string(task.Verified), string(task.Rejected)),
		"gate":       complete.PredictSet(texts(registry.Gates())...),
		"level":      complete.PredictSet("debug", "info", "warn", "error"),
	}))
	if err != nil {
		parser.Fatalf("completion does not work: %v", err)
	}
	inherit(&commands, kongcompletion.PositionalPredictor{})
	asked := complete.New(parser.Model.Name, commands)
	asked.Out = parser.Stdout
	asked.Complete()
	parser.Exit(exitYes)
}

// inherit has each command know the flags of those above it, so that their values
// are not counted as its arguments.
func inherit(command *complete.Command, above kongcompletion.PositionalPredictor) {
	if own, ok := command.Args.(*kongcompletion.PositionalPredictor); ok {
		own.ArgFlags = slices.Concat(above.ArgFlags, own.ArgFlags)
		own.BoolFlags = slices.Concat(above.BoolFlags, own.BoolFlags)
		above = *own
	}
	for _, sub := range command.Sub {
		inherit(&sub, above)
	}
}

// completing knows the names that a configuration file registers.
type completing struct{ around Surroundings }

// registered is what the file registers that a command line names, or the usual
// one; nothing when it cannot be read, since a shell has nowhere to show why.
func (c completing) registered() *registry.Registered {
	var file configFlag
	words := strings.Fields(c.around.Getenv(completionLine))
	for i, word := range words {
		if named, ok := strings.CutPrefix(word, "--config="); ok {
			file.Config = named
		} else if i > 0 && words[i-1] == "--config" {
			file.Config = word
		}
	}
	loaded, err := file.load(&process{Surroundings: c.around})
	if err != nil {
		loaded = &config.Config{}
	}
	return loaded.Registered()
}

func (c completing) components(complete.Args) []string {
	var names []string
	for _, component := range c.registered().Components {
		names = append(names, component.Name)
	}
	return names
}

func (c completing) runs(complete.Args) []string {
	var names []string
	for _, run := range c.registered().Runs {
		names = append(names, run.Name)
	}
	return names
}

func texts[T ~string](values []T) []string {
	var all []string
	for _, value := range values {
		all = append(all, string(value))
	}
	return all
}
