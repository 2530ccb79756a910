package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// exporter is where `make bench` puts blackbox_exporter.
const exporter = "bin/bench/prometheus-blackbox-exporter"

// exporterModule is one plain GET, with time for a server that holds it.
const exporterModule = `modules: {plain: {prober: http, timeout: 110s, http: {preferred_ip_protocol: ip4}}}`

// exporterStart is how long the exporter may take to listen.
const exporterStart = 20 * time.Second

// examiner is a process that examines a server: ours, or blackbox_exporter.
type examiner struct {
	process *exec.Cmd
	examine func(ctx context.Context, address string, count, atOnce int) error
}

func (e *examiner) pid() int { return e.process.Process.Pid }

func (e *examiner) stop() {
	_ = e.process.Process.Kill()
	_ = e.process.Wait()
}

func (l *lab) startExaminer(ctx context.Context, side string) (*examiner, error) {
	if side == sideOurs {
		return startProber(ctx)
	}
	return l.startExporter(ctx)
}

// startProber starts this program as one that does nothing but probe.
func startProber(ctx context.Context) (*examiner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.CommandContext(ctx, self, proberCommand)
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	answers := json.NewDecoder(bufio.NewReader(out))
	return &examiner{process, func(_ context.Context, address string, count, atOnce int) error {
		if err := json.NewEncoder(in).Encode(round{address, count, atOnce}); err != nil {
			return err
		}
		var done roundDone
		if err := answers.Decode(&done); err != nil {
			return fmt.Errorf("read the answer of the prober: %w", err)
		}
		if done.Passed != count {
			return fmt.Errorf("of %d probes only %d passed: %s", count, done.Passed, done.Failure)
		}
		return nil
	}}, nil
}

// startExporter starts blackbox_exporter and returns once it listens.
func (l *lab) startExporter(ctx context.Context) (*examiner, error) {
	directory, err := l.fresh()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(directory, "blackbox.yml")
	if err := os.WriteFile(file, []byte(exporterModule), 0o600); err != nil {
		return nil, err
	}
	listen, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	process := exec.CommandContext(ctx, exporter, "--config.file", file, "--web.listen-address", listen, "--log.level", "error")
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("start blackbox_exporter, which make bench fetches: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: probesFlying}}
	started := &examiner{process, func(ctx context.Context, address string, count, atOnce int) error {
		return scrape(ctx, client, listen, address, count, atOnce)
	}}
	return started, awaitExporter(ctx, client, listen)
}

func awaitExporter(ctx context.Context, client *http.Client, listen string) error {
	ticks := time.NewTicker(sampleEvery)
	defer ticks.Stop()
	end := time.Now().Add(exporterStart)
	for {
		_, err := fetch(ctx, client, "http://"+listen+"/-/healthy")
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("blackbox_exporter does not listen: %w", err)
		}
		<-ticks.C
	}
}

// scrape has the exporter ask for /healthz again and again.
func scrape(ctx context.Context, client *http.Client, listen, address string, count, atOnce int) error {
	asked := "http://" + listen + "/probe?module=plain&target=" + url.QueryEscape(address+"/healthz")
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for range count {
		group.Go(func() error {
			metrics, err := fetch(ctx, client, asked)
			if err != nil {
				return err
			}
			if !bytes.Contains(metrics, []byte("\nprobe_success 1\n")) {
				return errors.New("a probe of blackbox_exporter failed")
			}
			return nil
		})
	}
	return group.Wait()
}

func fetch(ctx context.Context, client *http.Client, address string) (body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, response.Status)
	}
	return io.ReadAll(response.Body)
}
