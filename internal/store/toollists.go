package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	selectTools = `SELECT tools FROM tool_lists WHERE digest = $1`

	// updateLoose is completed by dialect.listed and a parenthesis.
	updateLoose = `UPDATE tool_lists SET loose = 1 WHERE digest IN (`
)

func insertTools() insertion {
	return insertion{into: `INSERT INTO tool_lists (digest, loose, tools)`, columns: 3, then: ` ON CONFLICT (digest) DO NOTHING`}
}

// looseLists are the digests that a component has perhaps ceased to refer to.
type looseLists map[string]bool

// compare notes what a component no longer refers to.
func (l *looseLists) compare(before, after *registry.Known) {
	for _, digest := range []string{before.ToolsDigest, before.AcceptedDigest} {
		if digest != "" && digest != after.ToolsDigest && digest != after.AcceptedDigest {
			if *l == nil {
				*l = looseLists{}
			}
			(*l)[digest] = true
		}
	}
}

// loosen marks lists for Trim, which looks whether anything still refers to them.
func (d *Database) loosen(ctx context.Context, in session, lists looseLists) error {
	var digests []string
	for digest, loose := range lists {
		if loose && digest != "" {
			digests = append(digests, digest)
		}
	}
	if len(digests) == 0 {
		return nil
	}
	listed, err := namesText(digests)
	if err != nil {
		return err
	}
	_, err = in.ExecContext(ctx, updateLoose+d.dialect.listed+")", listed)
	return err
}

// ToolList returns the tools of a digest that a component has, or has accepted.
// Faults: NotFound; Unavailable. A list that does not have its digest is an
// error: something other than Countersign has altered it.
func (d *Database) ToolList(ctx context.Context, digest string) ([]registry.Tool, error) {
	var text string
	var found bool
	err := d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		text, found, err = first(ctx, in, scanValue[string], selectTools, digest)
		return err
	})
	if err == nil && !found {
		err = fault.New(fault.NotFound, "no list of tools with the digest %q is kept", digest).
			WithHint("Only the present and the accepted tools of a component are kept.")
	}
	if err != nil {
		return nil, d.explained("read a list of tools", err)
	}
	var tools []registry.Tool
	if err := json.Unmarshal([]byte(text), &tools); err != nil {
		return nil, fmt.Errorf("read the tools of %s: %w", digest, err)
	}
	now, err := registry.ToolsDigest(tools)
	if err != nil {
		return nil, fmt.Errorf("digest the tools of %s: %w", digest, err)
	}
	if now != digest {
		return nil, fmt.Errorf("the list of tools %s was altered by something other than Countersign: it has the digest %s", digest, now)
	}
	return tools, nil
}
