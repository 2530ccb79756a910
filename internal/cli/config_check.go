package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// maxShownComponents bounds the lines of the summary for people.
const maxShownComponents = 50

type configCheckCommand struct {
	File configFlag `embed:""`
	Path string     `arg:"" optional:"" help:"The same as --config FILE." name:"file"`
}

// Help is what config check --help says beyond its one line.
func (*configCheckCommand) Help() string {
	return "Every problem is shown with its line. 0: the file is valid; 1: it is not; 2: there is no file, or it cannot be read. " +
		"Secrets that cannot be had from here are warnings, since the server may run elsewhere. No server is asked."
}

// configChecked is the answer, with --json.
type configChecked struct {
	File       string             `json:"file"`
	Valid      bool               `json:"valid"`
	Problems   []config.Problem   `json:"problems"`
	Total      int                `json:"total_problems"` // more than are listed when there are very many
	Warnings   []config.Problem   `json:"warnings"`
	Components []checkedComponent `json:"components"`
}

type checkedComponent struct {
	Name    string           `json:"name"`
	Kind    registry.Kind    `json:"kind"`
	Profile registry.Profile `json:"profile"`
	Target  string           `json:"target"` // the address without its query, or the program
}

// Run checks the file and prints what is wrong, or else what it holds.
func (c *configCheckCommand) Run(p *process) error {
	if c.Path != "" && c.File.Config != "" {
		return fault.New(fault.InvalidArgument, "there are two files: %s and --config %s", c.Path, c.File.Config).
			WithHint("Name one of them.")
	}
	file := config.Find(cmp.Or(c.Path, c.File.Config), p.Getenv)
	if file == "" {
		return fault.New(fault.NotFound, "there is no configuration file: looked for %s", strings.Join(config.Places(p.Getenv), " and ")).
			WithHint("Everything that it says can be left out. Name another file with --config.")
	}
	loaded, invalid, err := config.Check(file)
	if err != nil {
		return err
	}
	checked := configChecked{File: file, Valid: invalid == nil, Problems: []config.Problem{}, Warnings: []config.Problem{}, Components: []checkedComponent{}}
	if invalid != nil {
		checked.Problems, checked.Total = invalid.Problems, invalid.Total
	} else {
		checked.Warnings = append(checked.Warnings, loaded.Warnings(p.resolver())...)
		for _, each := range loaded.Components {
			checked.Components = append(checked.Components, checkedOf(&each))
		}
	}
	if p.JSON {
		err = printJSON(p.Out, checked)
	} else {
		_, err = io.WriteString(p.Out, checked.text(painterFor(p.Out, p.Getenv)))
	}
	if err != nil {
		return fmt.Errorf("print what is in the file: %w", err)
	}
	if !checked.Valid {
		return errNo
	}
	return nil
}

func checkedOf(component *registry.Component) checkedComponent {
	checked := checkedComponent{Name: component.Name, Kind: component.Kind()}
	if server, ok := component.Spec.(*registry.MCPServer); ok {
		checked.Profile, checked.Target = server.Profile, shownTarget(server)
	}
	return checked
}

// shownTarget is where a server is, without what may be secret in it.
func shownTarget(server *registry.MCPServer) string {
	if len(server.Command) > 0 {
		return server.Command[0]
	}
	address, _, _ := strings.Cut(server.URL, "?")
	return address
}

func (c configChecked) text(paint painter) string {
	var out strings.Builder
	if !c.Valid {
		fmt.Fprintf(&out, "%s has %s\n", paint.bold(visible(c.File)), paint.red(counted(c.Total, "problem")))
		for _, problem := range c.Problems {
			out.WriteString("\n" + paintedProblem(problem, paint) + "\n")
		}
		if more := c.Total - len(c.Problems); more > 0 {
			fmt.Fprintf(&out, "\nand %d more\n", more)
		}
		return out.String()
	}
	fmt.Fprintf(&out, "%s is %s: %s\n", paint.bold(visible(c.File)), paint.green("valid"), counted(len(c.Components), "component"))
	width := 0
	for _, each := range c.Components[:min(len(c.Components), maxShownComponents)] {
		width = max(width, len(each.Name))
	}
	for i, each := range c.Components {
		if i == maxShownComponents {
			fmt.Fprintf(&out, "  and %d more\n", len(c.Components)-i)
			break
		}
		fmt.Fprintf(&out, "  %-*s  %s  %-11s  %s\n", width, each.Name, each.Kind, each.Profile, visible(each.Target))
	}
	if len(c.Warnings) > 0 {
		fmt.Fprintf(&out, "\n%s\n", counted(len(c.Warnings), "warning"))
	}
	for _, warning := range c.Warnings {
		out.WriteString("\n" + paintedProblem(warning, paint) + "\n")
	}
	return out.String()
}

func counted(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}

// paintedProblem sets off the first line, which says what is wrong and where.
func paintedProblem(problem config.Problem, paint painter) string {
	headline := visible(problem.Error())
	return paint.bold(paint.fold(headline)) + paint.fold(strings.TrimPrefix(visible(problem.String()), headline))
}
