package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/internal/registry"
)

// demoRun is the run that wants to start.
const demoRun = "nightly"

// tellOfStart asks twice whether a run may start that stands on the broken
// server: without anything to fall back on, and with the healthy one.
func (s *demoStory) tellOfStart(ctx context.Context, healthy, broken string) error {
	s.heading("3. May the run start?", "Right before it does, everything behind it is probed.")
	configuration := fmt.Sprintf(`db: registry.db
components:
  %s: {kind: mcp_server, url: %s}
  %s: {kind: mcp_server, url: %s}
runs:
  %s: {slots: {recon: required}}
slots:
`, demoHealthy, healthy, demoBroken, broken, demoRun)
	alone := configuration + "  recon: {primary: " + demoBroken + "}\n"
	if err := s.preflight(ctx, alone, demoBroken, false); err != nil {
		return err
	}
	helped := configuration + "  recon: {primary: " + demoBroken + ", fallbacks: [" + demoHealthy + "]}\n"
	return s.preflight(ctx, helped, demoBroken+", else "+demoHealthy, true)
}

// preflight asks by the real command, shows the answer and checks that it is the
// one of the story.
func (s *demoStory) preflight(ctx context.Context, configuration, behind string, allowed bool) error {
	if err := os.WriteFile(filepath.Join(s.folder, "countersign.yaml"), []byte(configuration), 0o600); err != nil {
		return fmt.Errorf("write the demo's configuration: %w", err)
	}
	s.say("\n%s\n", s.paint.dim("$ countersign preflight "+demoRun+"   # recon: "+behind))
	answer, err := s.ask(ctx, allowed, "preflight", demoRun)
	if err != nil {
		return err
	}
	var made registry.Preflight
	if err := json.Unmarshal(answer, &made); err != nil {
		return fmt.Errorf("read the preflight: %w", err)
	}
	if len(made.Slots) != 1 || made.Slots[0].Fallback != allowed || made.Allowed != allowed {
		return fmt.Errorf("the preflight is not the one that the servers deserve: %s", answer)
	}
	s.say("%s", preflightText(&made, s.paint))
	s.scenes = append(s.scenes, demoScene{Who: demoRun, Did: "preflight", Outcome: startSentence(&made)})
	return nil
}
