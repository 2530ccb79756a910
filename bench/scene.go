package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// scene is what the figures depend on beside the code.
type scene struct {
	date       time.Time
	goVersion  string
	platform   string
	processors int
	sync       float64 // milliseconds for a page to reach the disk, median
	loadBefore string
	loadAfter  string
}

func look(directory string) (scene, error) {
	sync, err := syncTime(directory)
	return scene{
		date:       time.Now().UTC(),
		goVersion:  runtime.Version(),
		platform:   runtime.GOOS + "/" + runtime.GOARCH,
		processors: runtime.NumCPU(),
		sync:       sync,
		loadBefore: load(),
	}, err
}

// load is the load average over one minute, where the system tells it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// syncTime appends pages to a file, one after the other, and waits for the disk
// each time: half the speed of any durable writer stands here.
func syncTime(directory string) (milliseconds float64, err error) {
	const pages, pageSize = 200, 4096
	file, err := os.Create(filepath.Join(directory, "sync"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var took series
	page := make([]byte, pageSize)
	for range pages {
		began := time.Now()
		if _, err := file.Write(page); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, fmt.Errorf("wait for the disk: %w", err)
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
	}
	return took.median(), nil
}
