package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	demoTool      = "portscan"       // what the probed servers run
	demoHealthy   = "scanner-a"      // the server whose tool runs
	demoBroken    = "scanner-b"      // the one that is up, and useless
	demoStopWait  = 10 * time.Second // how long a part may take to end
	demoMaxOutput = 1 << 20          // bytes read from a part
)

// tellOfTools probes two servers that differ in one thing: whether the tool
// they exist for can really be run. Then it tells what that means for a run.
func (s *demoStory) tellOfTools(ctx context.Context) (err error) {
	s.heading("2. Do the tools really work?", "Two MCP servers with the same code; one was built around a truncated download.")
	works := filepath.Join(s.folder, "complete", demoTool)
	broken := filepath.Join(s.folder, "truncated", demoTool)
	if err := installDemoTools(s.self, works, broken); err != nil {
		return err
	}
	var addresses []string
	for _, each := range []struct {
		name, tool string
		healthy    bool
	}{{demoHealthy, works, true}, {demoBroken, broken, false}} {
		server := exec.CommandContext(ctx, s.self, "demo-scanner", "--name", each.name, "--tool", each.tool)
		server.Stderr = s.log
		address, stop, err := startDemoServer(server)
		if err != nil {
			return fmt.Errorf("start %s: %w", each.name, err)
		}
		defer func() { err = errors.Join(err, stop()) }()
		if err := s.probeScanner(ctx, each.name, address, each.healthy); err != nil {
			return err
		}
		addresses = append(addresses, address)
	}
	return s.tellOfStart(ctx, addresses[0], addresses[1])
}

// installDemoTools puts a tool that runs at one path and, at the other, the
// first bytes of the same program: present, marked executable, and useless.
func installDemoTools(self, works, broken string) error {
	for _, path := range []string{works, broken} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("make a folder for the demo's tool: %w", err)
		}
	}
	if err := os.Symlink(self, works); err != nil {
		return fmt.Errorf("install the demo's tool: %w", err)
	}
	program, err := os.Open(self)
	if err != nil {
		return fmt.Errorf("read this program: %w", err)
	}
	defer program.Close()
	start, err := io.ReadAll(io.LimitReader(program, 4096))
	if err != nil {
		return fmt.Errorf("read the start of this program: %w", err)
	}
	if err := os.WriteFile(broken, start, 0o700); err != nil { //nolint:gosec // it has to be executable to be told apart from an absent one
		return fmt.Errorf("install the demo's truncated tool: %w", err)
	}
	return nil
}

// probeScanner probes a scanner by the real command, shows what that found and
// checks that it is what the story tells.
func (s *demoStory) probeScanner(ctx context.Context, name, address string, healthy bool) error {
	s.say("\n%s\n", s.paint.dim("$ countersign probe "+address))
	answer, err := s.ask(ctx, healthy, "probe", address)
	if err != nil {
		return err
	}
	var verdict registry.ProbeResult
	if err := json.Unmarshal(answer, &verdict); err != nil {
		return fmt.Errorf("read the probe result of %s: %w", name, err)
	}
	if !verdict.Healthz.OK || !verdict.ListTools.OK || verdict.Test.OK != healthy {
		return fmt.Errorf("%s: the verdict is not the one that its tool deserves: %s", name, answer)
	}
	s.say("%s", probeTable(&verdict, nil, typed{}, s.paint))
	s.scenes = append(s.scenes, demoScene{Who: name, Did: "probe", Outcome: map[bool]string{true: "passed", false: "failed"}[verdict.Passed()]})
	return nil
}

// ask runs a command as a process of its own, in the demo's folder, and returns
// what it prints with --json; yes says how it must end.
func (s *demoStory) ask(ctx context.Context, yes bool, args ...string) (answer []byte, err error) {
	command := exec.CommandContext(ctx, s.self, append(args, "--json")...)
	command.Dir = s.folder
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+s.folder) // where the signing key is made
	var complaint bytes.Buffer
	command.Stderr = &complaint
	answer, err = command.Output()
	if code := command.ProcessState.ExitCode(); code != map[bool]int{true: exitYes, false: exitNo}[yes] {
		return nil, errors.Join(fmt.Errorf("%s ended with %d: %s%s", args[0], code, answer, complaint.String()), err)
	}
	return answer, nil
}

// startDemoServer starts a server that prints its address as its first line.
// stop ends it and waits for it.
func startDemoServer(server *exec.Cmd) (address string, stop func() error, err error) {
	server.WaitDelay = demoStopWait
	out, err := server.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		if err := server.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return errors.Join(err, server.Process.Kill(), server.Wait())
		}
		return server.Wait()
	}
	line, err := bufio.NewReader(io.LimitReader(out, demoMaxOutput)).ReadString('\n')
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("read its address: %w", err), stop())
	}
	return strings.TrimSpace(line), stop, nil
}
