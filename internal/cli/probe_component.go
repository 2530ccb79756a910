package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// name is the component that is to be probed; empty when it is something else.
func (c *probeCommand) name(p *process) string {
	if c.MCPConfig == "" && p.afterDashes == nil && len(c.Target) == 1 && registry.IsName(c.Target[0]) {
		return c.Target[0]
	}
	return ""
}

// changed names a flag that makes the probe of a component another one than the
// registered one, so that its result says nothing about that; empty when none
// does. A transcript is never recorded.
func (c *probeCommand) changed() string {
	for _, each := range []struct {
		flag  string
		given bool
	}{
		{"--profile", c.Profile != ""},
		{"--mcp-url", c.MCPURL != ""},
		{"--call", c.Call != ""},
		{"--arguments", c.Arguments != ""},
		{"--expect", c.Expect != ""},
		{"--force", c.Force},
		{"--require-tools", len(c.RequireTools) > 0},
		{"--expect-server", c.ExpectServer != ""},
		{"--timeout", c.Timeout != nil},
		{"--explain", c.Explain},
	} {
		if each.given {
			return each.flag
		}
	}
	return ""
}

// unrecorded says that the probe of a component was not the registered one.
func (c *probeCommand) unrecorded(p *process, paint painter) string {
	if c.name(p) == "" {
		return ""
	}
	return paint.dim(paint.fold("\n  Not recorded, because of "+c.changed()+".")) + "\n"
}

// examine probes a component as it is registered, and records the result.
func (c *probeCommand) examine(ctx context.Context, p *process, name string, only []registry.Gate) error {
	loaded, err := c.Registry.File.load(p)
	if err != nil {
		return err
	}
	component, known := loaded.Component(name)
	switch {
	case !known:
		return unnamed(loaded, name)
	case len(only) > 0 && component.Kind() != registry.KindMCPServer:
		return fault.New(fault.InvalidArgument, "--only chooses among the gates of an MCP server, and %s is of the kind %s", name, component.Kind()).
			With(fault.Field, "--only").WithHint("Leave out --only.")
	}
	return c.Registry.recording(ctx, p, loaded, func(examined *examining) error {
		stop := showProgress(ctx, p.Err, "probing "+name)
		found, err := examined.Probe(ctx, name)
		stop()
		if err != nil {
			return err
		}
		result, err := registry.DecodeResult(found.Kind, found.Result)
		if err != nil {
			return fmt.Errorf("read the result of %s: %w", name, err)
		}
		return printExamination(p, &found, result, only, examined.flags)
	})
}

// printExamination prints the result of a component, as that of any other target.
func printExamination(p *process, found *registry.Examination, result registry.Result, only []registry.Gate, flags string) error {
	var err error
	if p.JSON {
		err = errors.Join(printJSON(p.Out, found.Result), warnOfTools(p, found))
	} else {
		_, err = io.WriteString(p.Out, examinationText(found, result, only, flags, painterFor(p.Out, p.Getenv)))
	}
	if err != nil {
		return fmt.Errorf("print the probe result: %w", err)
	}
	if probed, hasGates := result.(*registry.ProbeResult); hasGates {
		return answered(outcomeAt(probed, only))
	}
	return answered(result.Summary().Outcome)
}

// warnOfTools tells beside a result what it does not say: that the tools are not
// the accepted ones, or were accepted with it.
func warnOfTools(p *process, found *registry.Examination) error {
	switch {
	case found.Drift != nil:
		return warn(p, strings.TrimSuffix("the tools of "+oneLine(found.Name)+" are not the accepted ones: "+oneLine(found.Drift.String()), ": "))
	case found.Trusted:
		return warn(p, trusted([]string{found.Name}))
	}
	return nil
}

func examinationText(found *registry.Examination, result registry.Result, only []registry.Gate, flags string, paint painter) string {
	var text string
	if probed, hasGates := result.(*registry.ProbeResult); hasGates {
		text = probeTable(probed, only, typed{flags: flags}, paint)
	} else {
		verdict := verdictOn(result.Summary().Outcome, paint)
		text = fmt.Sprintf("%s  %s\n\n%s", paint.bold(oneLine(found.Name)), verdict, resultText(result, flags, paint))
	}
	if found.Drift != nil {
		text += "\n" + driftWarning(found.Name, found.Drift, flags, paint)
	}
	if found.Trusted {
		text += "\n" + paint.fold("  "+trusted([]string{found.Name})) + "\n"
	}
	return text
}

// resultText shows what a result found in the way of its kind, or else what
// results of every kind have in common. Of the flags see examining.
func resultText(result registry.Result, flags string, paint painter) string {
	switch of := result.(type) {
	case *registry.ProbeResult:
		return gatesTable(of, nil, typed{flags: flags}, paint)
	case *registry.ModelResult:
		return modelTable(of, paint)
	case *registry.HarnessResult:
		return harnessTable(of, paint)
	case *registry.KnowledgeBaseResult:
		return knowledgeBaseTable(of, typed{flags: flags}, paint)
	}
	var out strings.Builder
	summary := result.Summary()
	if summary.Reason != "" {
		row(&out, paint, "found", oneLine(summary.Reason))
	}
	for _, cause := range summary.Causes {
		if entry, known := cause.Entry(); known {
			row(&out, paint, "hint", string(cause)+": "+entry.Sentence+" "+entry.Hint)
		}
	}
	row(&out, paint, "latency", fmt.Sprintf("%.1f ms", registry.Milliseconds(summary.Latency)))
	row(&out, paint, "probed at", shownMoment(summary.ProbedAt))
	return out.String()
}

// unnamed is the fault of a name that the configuration does not have.
func unnamed(loaded *config.Config, name string) error {
	if loaded.File == "" {
		return fault.New(fault.NotFound, "there is no configuration file that could name %s", name).
			WithHint("Name the file with --config; an address is written in full, such as http://%s, and a command behind --.", name)
	}
	none := fault.New(fault.NotFound, "%s names no component %s", loaded.File, name)
	var names []string
	for i := range loaded.Components {
		names = append(names, loaded.Components[i].Name)
	}
	if nearest := registry.Nearest(name, names); nearest != "" {
		return none.WithHint("Is it %s that is meant?", nearest)
	}
	return none.WithHint("countersign config check lists the components; a command stands behind --.")
}
