package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

type configCheckCommand struct {
	File configFlag `embed:""`
	Path string     `arg:"" optional:"" help:"The same as --config FILE." name:"file"`
	Send bool       `help:"Send one message, marked as a test, to each receiver of alerts, and say whether it was taken." name:"send-test-alert"`
}

// Help is what config check --help says beyond its one line.
func (*configCheckCommand) Help() string {
	return "Every problem is shown with its line. 0: the file is valid; 1: it is not, or a test alert was not taken; 2: there is no file, or it " +
		"cannot be read. Secrets and programs that cannot be had from here are warnings, since the server may run elsewhere. " +
		"No server is asked, and without --send-test-alert nobody is told anything. " +
		"The link of a test alert begins with public_url of alerts, else with the address that the key listen names: " +
		"for a server that --listen has elsewhere, write public_url."
}

// configChecked is the answer, with --json.
type configChecked struct {
	File       string             `json:"file"`
	Valid      bool               `json:"valid"`
	Problems   []config.Problem   `json:"problems"`
	Total      int                `json:"total_problems"` // more than are listed when there are very many
	Warnings   []config.Problem   `json:"warnings"`
	Components []checkedComponent `json:"components"`
	Slots      []checkedSlot      `json:"slots"`
	Runs       []checkedRun       `json:"runs"`
	Receivers  []checkedReceiver  `json:"receivers"` // of alerts
	ClaimWaits int64              `json:"claim_waits_ms,omitempty"`
	Tests      []checkedTest      `json:"test_alerts,omitempty"` // with --send-test-alert
}

// checkedTest is what came of a test alert.
type checkedTest struct {
	Receiver string `json:"receiver"`
	Taken    bool   `json:"taken"`
	Status   int    `json:"status,omitempty"` // of the receiver's answer
	Reason   string `json:"reason,omitempty"` // why it was not taken
	Hint     string `json:"hint,omitempty"`   // what to do about it
}

type checkedReceiver struct {
	Name     string         `json:"name"`
	Protocol alert.Protocol `json:"protocol"`
	Target   string         `json:"target"` // see config.ShowReceiver
	Send     []alert.Kind   `json:"send"`
}

type checkedComponent struct {
	Name    string           `json:"name"`
	Kind    registry.Kind    `json:"kind"`
	Profile registry.Profile `json:"profile,omitempty"` // of an MCP server
	Target  string           `json:"target"`            // see config.Shown
}

type checkedSlot struct {
	Name         string   `json:"name"`
	Primary      string   `json:"primary"`
	Fallbacks    []string `json:"fallbacks"`
	RequireTools []string `json:"require_tools"`
	MinVersion   string   `json:"min_version,omitempty"`
	MaxAgeMs     int64    `json:"max_age_ms,omitempty"`
}

type checkedRun struct {
	Name  string           `json:"name"`
	Slots []checkedRunSlot `json:"slots"`
}

type checkedRunSlot struct {
	Slot     string `json:"slot"`
	Required bool   `json:"required"`
}

// Run checks the file and prints what is wrong, or else what it holds.
func (c *configCheckCommand) Run(ctx context.Context, p *process) error {
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
	checked := checkedConfig(file, loaded, invalid)
	if invalid == nil {
		checked.Warnings = append(checked.Warnings, loaded.Warnings(p.resolver())...)
		if c.Send {
			if checked.Tests, err = testAlerts(ctx, p, file, loaded); err != nil {
				return err
			}
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
	untaken := func(test checkedTest) bool { return !test.Taken }
	if !checked.Valid || slices.ContainsFunc(checked.Tests, untaken) {
		return errNo
	}
	return nil
}

// testAlerts sends a test to every receiver. Fault: InvalidArgument without any.
func testAlerts(ctx context.Context, p *process, file string, loaded *config.Config) ([]checkedTest, error) {
	settings := loaded.Alerts
	if len(settings.Receivers) == 0 {
		return nil, fault.New(fault.InvalidArgument, "%s names no receiver of alerts", file).
			With(fault.Field, "--send-test-alert").WithHint("Add one below alerts: docs/ALERTS.md shows how.")
	}
	if settings.PublicURL == "" {
		settings.PublicURL = "http://" + cmp.Or(loaded.Listen, defaultListen)
	}
	defer showProgress(ctx, p.Err, "sending test alerts")()
	var tests []checkedTest
	for _, trial := range alert.Try(ctx, &settings, p.resolver().Resolve, time.Now()) {
		test := checkedTest{Receiver: trial.Receiver, Taken: trial.Err == nil, Status: trial.Status}
		if trial.Err != nil {
			test.Reason, test.Hint = trial.Err.Error(), trial.Hint
		}
		tests = append(tests, test)
	}
	return tests, nil
}

// checkedConfig is the answer without warnings; one of loaded and invalid is nil.
func checkedConfig(file string, loaded *config.Config, invalid *config.Invalid) configChecked {
	checked := configChecked{
		File: file, Valid: invalid == nil, Problems: []config.Problem{}, Warnings: []config.Problem{},
		Components: []checkedComponent{}, Slots: []checkedSlot{}, Runs: []checkedRun{}, Receivers: []checkedReceiver{},
	}
	if invalid != nil {
		checked.Problems, checked.Total = invalid.Problems, invalid.Total
		return checked
	}
	for _, each := range loaded.Components {
		shown := config.Show(&each)
		checked.Components = append(checked.Components, checkedComponent{each.Name, each.Kind(), shown.Profile, shown.Target})
	}
	for _, each := range loaded.Slots {
		checked.Slots = append(checked.Slots, checkedSlot{
			Name: each.Name, Primary: each.Primary,
			Fallbacks:    append([]string{}, each.Fallbacks...),
			RequireTools: append([]string{}, each.RequireTools...),
			MinVersion:   each.MinVersion, MaxAgeMs: each.MaxAge.Milliseconds(),
		})
	}
	for _, each := range loaded.Runs {
		run := checkedRun{Name: each.Name}
		for _, slot := range each.Slots {
			run.Slots = append(run.Slots, checkedRunSlot{slot.Slot, slot.Required})
		}
		checked.Runs = append(checked.Runs, run)
	}
	if len(loaded.Alerts.Receivers) > 0 {
		checked.ClaimWaits = loaded.Alerts.ClaimWaits.Milliseconds()
	}
	for i := range loaded.Alerts.Receivers {
		each := &loaded.Alerts.Receivers[i]
		receiver := checkedReceiver{Name: each.Name, Protocol: each.Protocol, Target: config.ShowReceiver(each), Send: each.Send}
		if len(receiver.Send) == 0 {
			receiver.Send = alert.Kinds()
		}
		checked.Receivers = append(checked.Receivers, receiver)
	}
	return checked
}
