package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
)

// demoTimeout bounds the whole story; it takes a few seconds.
const demoTimeout = time.Minute

// demoMaxLog is how many bytes of its parts' log a broken demo shows.
const demoMaxLog = 2048

type demoCommand struct{}

// Help is what demo --help says beyond its one line.
func (demoCommand) Help() string {
	return "Two agents work one task over MCP, each with a server process of its own on one database in a temporary folder. " +
		"Then two MCP servers are probed: one that works, and one that is up but whose tool is a broken download. " +
		"A run that relies on the broken one may not start, until it has the other to fall back on."
}

// Run tells the story and cleans up behind itself. Its exit code is 0 only if
// every scene ended the way the story says.
func (demoCommand) Run(ctx context.Context, p *process) (err error) {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program to start its parts: %w", err)
	}
	folder, err := os.MkdirTemp("", "countersign-demo-")
	if err != nil {
		return fmt.Errorf("make a temporary folder for the demo: %w", err)
	}
	defer func() {
		if removed := os.RemoveAll(folder); removed != nil && err == nil {
			err = fmt.Errorf("remove the demo's folder: %w", removed)
		}
	}()
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return fmt.Errorf("make the log of the demo's parts: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	out := p.Out
	if p.JSON {
		out = io.Discard
	}
	story := &demoStory{out: out, log: log, self: self, folder: folder, paint: painterFor(out, p.Getenv), started: time.Now()}
	scenes, err := story.tell(ctx)
	if err != nil {
		return story.broken(err)
	}
	if p.JSON {
		return printJSON(p.Out, map[string]any{"scenes": scenes})
	}
	return nil
}

// demoStory is what the scenes of the demo share.
type demoStory struct {
	out     io.Writer
	log     *os.File // what the parts say on standard error
	self    string   // this program, which also plays the servers
	folder  string
	paint   painter
	started time.Time
	scenes  []demoScene
}

// demoScene is one call and its outcome.
type demoScene struct {
	Who     string `json:"who"`
	Did     string `json:"did"`
	Outcome string `json:"outcome"`
}

func (s *demoStory) tell(ctx context.Context) ([]demoScene, error) {
	s.say("%s\n", s.paint.bold("A claim counts only when something other than the claimant has checked it."))
	if err := s.tellOfWork(ctx); err != nil {
		return nil, fmt.Errorf("the first half of the demo: %w", err)
	}
	if err := s.tellOfTools(ctx); err != nil {
		return nil, fmt.Errorf("the second half of the demo: %w", err)
	}
	s.say("\nTold in %.1f s on real processes; nothing is left behind.\n", time.Since(s.started).Seconds())
	s.say("Next: %s, then give two agents the configuration that it prints.\n", s.paint.bold("countersign serve"))
	return s.scenes, nil
}

// broken says that a scene ended otherwise than the story says, with the last
// that the parts logged.
func (s *demoStory) broken(err error) error {
	logged, readErr := os.ReadFile(s.log.Name())
	if readErr != nil {
		logged = []byte(readErr.Error())
	}
	logged = logged[max(0, len(logged)-demoMaxLog):]
	return fault.New(fault.Internal, "%v\n%s", err, logged).
		WithHint("The demo needs only this program and a temporary folder that permits running programs.")
}

func (s *demoStory) say(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// heading prints the question of a half of the story, and what plays in it.
func (s *demoStory) heading(question, cast string) {
	s.say("\n%s  %s\n", s.paint.bold(question), s.paint.foldFrom(cast, len(question)+2, len("1. ")))
}

// scene records an outcome and prints it as one line.
func (s *demoStory) scene(who, did, outcome string, good bool) {
	s.scenes = append(s.scenes, demoScene{Who: who, Did: did, Outcome: outcome})
	lamp := s.paint.green(outcome)
	if !good {
		lamp = s.paint.red(outcome)
	}
	s.say("   %-9s %-13s %s\n", visible(who), visible(did), lamp)
}

// aside prints what stands behind a scene, indented below it.
func (s *demoStory) aside(format string, args ...any) {
	const indent = 27
	text := s.paint.foldFrom(visible(fmt.Sprintf(format, args...)), indent, indent)
	s.say("%*s%s\n", indent, "", s.paint.dim(text))
}
