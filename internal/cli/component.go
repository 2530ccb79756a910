package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// componentCommand is the registry for people and scripts. Nothing is probed.
type componentCommand struct {
	Registry registryFlags `embed:""`

	List   componentListCommand   `cmd:"" help:"List the registered components with their statuses."`
	Show   componentShowCommand   `cmd:"" help:"Show all that is known of a component."`
	Accept componentAcceptCommand `cmd:"" help:"Accept the tools that a component has now."`
}

type componentListCommand struct {
	Status string `help:"Only components of this status: probing, available, unavailable or unknown." placeholder:"STATUS" predictor:"status"`
	Kind   string `help:"Only components of this kind, such as mcp_server." placeholder:"KIND" predictor:"kind"`
}

// Help is what component list --help says beyond its one line.
func (*componentListCommand) Help() string {
	return "FOR is how long the component has had its status, AGE how old the result is on which it rests. A status is computed when it is " +
		"read, from stored results and the clock: countersign serve probes on schedule, probe NAME once. 0 whatever the statuses are."
}

// Run lists every component that is asked for.
func (c *componentListCommand) Run(ctx context.Context, p *process, shared *componentCommand) error {
	query := registry.ComponentQuery{Kind: registry.Kind(c.Kind), Status: registry.Status(c.Status), Limit: registry.MaxPage}
	if c.Status != "" && !slices.Contains(statuses(), query.Status) {
		return unknownChoice("status", c.Status, statuses())
	}
	if c.Kind != "" && !slices.Contains(registry.Kinds(), query.Kind) {
		return unknownChoice("kind", c.Kind, registry.Kinds())
	}
	return shared.Registry.reading(ctx, p, func(examined *examining) error {
		list := registry.ComponentPage{Components: []registry.Reading{}}
		for more := true; more; more = query.Cursor != "" {
			page, err := examined.Components(ctx, query)
			if err != nil {
				return err
			}
			list.Components = append(list.Components, page.Components...)
			query.Cursor = page.NextCursor
		}
		if p.JSON {
			return printJSON(p.Out, list)
		}
		paint := painterFor(p.Out, p.Getenv)
		advice, err := examined.unpatrolled(ctx, list.Components, paint)
		if err != nil {
			return err
		}
		_, err = io.WriteString(p.Out, componentsText(list.Components, time.Now(), paint)+advice)
		return err
	})
}

// unknownChoice refuses a value that is not one of those there are.
func unknownChoice[V ~string](flag, given string, values []V) error {
	names := make([]string, len(values))
	for i, value := range values {
		names[i] = string(value)
	}
	return fault.New(fault.InvalidArgument, "there is no %s %.80q", flag, given).
		With(fault.Field, "--"+flag).WithHint("Choose one of %s.", strings.Join(names, ", "))
}

type componentShowCommand struct {
	Name string `arg:"" help:"The component's name." name:"name" predictor:"component"`
}

// Help is what component show --help says beyond its one line.
func (*componentShowCommand) Help() string {
	return "Its status, the newest result, the slots that it may fill, the tools that are accepted and how those of now differ, the latest " +
		"hours and changes of status. 0 whatever the status is; countersign probe NAME probes it."
}

// Run shows a component.
func (c *componentShowCommand) Run(ctx context.Context, p *process, shared *componentCommand) error {
	return shared.Registry.reading(ctx, p, func(examined *examining) error {
		view, err := examined.Component(ctx, c.Name)
		if err != nil {
			return err
		}
		if p.JSON {
			return printJSON(p.Out, view)
		}
		paint := painterFor(p.Out, p.Getenv)
		text, err := componentText(&view, examined.Registered().Component(c.Name).Target(), examined.flags, time.Now(), paint)
		if err != nil {
			return err
		}
		advice, err := examined.unpatrolled(ctx, []registry.Reading{view.Reading}, paint)
		if err != nil {
			return err
		}
		_, err = io.WriteString(p.Out, text+advice)
		return err
	})
}

type componentAcceptCommand struct {
	Name string `arg:"" help:"The component's name." name:"name" predictor:"component"`
}

// Help is what component accept --help says beyond its one line.
func (*componentAcceptCommand) Help() string {
	return "The tools of the first probe that passed are accepted at first. When those of a later one differ in a name, a description, a schema or " +
		"destructiveHint, probe and component show tell how, and with drift: block no preflight passes until they are accepted."
}

// Run accepts the tools that the newest result found.
func (c *componentAcceptCommand) Run(ctx context.Context, p *process, shared *componentCommand) error {
	return shared.Registry.reading(ctx, p, func(examined *examining) error {
		accepted, err := examined.Accept(ctx, c.Name)
		if err != nil {
			return err
		}
		if p.JSON {
			return printJSON(p.Out, accepted)
		}
		_, err = io.WriteString(p.Out, acceptedText(&accepted, painterFor(p.Out, p.Getenv)))
		return err
	})
}

// unpatrolled asks about the server where nothing was ever probed of what is shown,
// and no server has ever probed on schedule what this database is about; else it is
// empty. Fault: Unavailable.
func (e *examining) unpatrolled(ctx context.Context, shown []registry.Reading, paint painter) (string, error) {
	wasProbed := func(reading registry.Reading) bool { return reading.ResultID != nil }
	if len(shown) == 0 || slices.ContainsFunc(shown, wasProbed) {
		return "", nil
	}
	lease, err := e.database.Lease(ctx)
	if err != nil || lease.Fence > 0 {
		return "", err
	}
	return "\n" + paint.fold("No patrol has used this database yet: is countersign serve running on it? It is "+visible(e.database.Location())) + "\n", nil
}

// acceptedText shows what is accepted now, how it differs from before, and that it
// does not mend a component which fails.
func acceptedText(accepted *registry.Acceptance, paint painter) string {
	name, digest := paint.bold(oneLine(accepted.Name)), shortDigest(accepted.Digest)
	var text string
	switch {
	case accepted.Was == accepted.Digest:
		text = fmt.Sprintf("%s  its tools %s were accepted before; nothing has changed\n", name, digest)
	case accepted.Drift == nil || accepted.Drift.IsZero():
		text = fmt.Sprintf("%s  its tools %s are accepted now\n", name, digest)
	default:
		text = fmt.Sprintf("%s  its tools %s are accepted now, instead of %s\n\n", name, digest, shortDigest(accepted.Was)) +
			driftText(accepted.Drift, paint)
	}
	if accepted.Reason != "" {
		text += "\n" + paint.yellow(paint.fold("Its newest probe did not pass, and that its tools are accepted does not change that: "+
			oneLine(accepted.Reason))) + "\n"
	}
	return text
}
