//go:build unix

package gates_test

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/gates"
)

func TestExecutable_tellsWhatADownloadLeftBehind(t *testing.T) {
	cases := map[string]struct{ content, detail string }{
		"nothing":     {"", "not a program but an empty file; exec format error"},
		"page":        {"<!doctype html><title>Too many requests</title>", "not a program but an HTML page; exec format error"},
		"archive":     {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "not a program but an archive that was not unpacked (application/x-gzip); exec format error"},
		"text":        {"Not Found", "not a program but a text without a #! line; exec format error"},
		"header only": {"\x7fELF\x02\x01\x01", "truncated: parts that its headers name lie past the end of the file; exec format error"},
		"Windows":     {"MZ" + strings.Repeat("\x00", 200), "wrong system: made for windows, and this is " + runtime.GOOS + "; exec format error"},
	}
	for name, c := range cases {
		checkDetail(t, name, gates.Executable{Path: program(t, c.content)}, c.detail)
	}
}

func TestExecutable_tellsWhatAScriptLacks(t *testing.T) {
	notExecutable := filepath.Join(t.TempDir(), "interpreter")
	if err := os.WriteFile(notExecutable, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ content, detail string }{
		"interpreter":             {"#!/no/such/python3\n", "its interpreter /no/such/python3 does not exist; no such file or directory"},
		"interpreter's rights":    {"#!" + notExecutable + "\n", "not executable: the system refuses it; look at its permissions, those of its interpreter, and how its file system is mounted; permission denied"},
		"line feeds of Unix":      {"#!/bin/sh\r\necho 1.0\r\n", "its #! line ends in a carriage return, so that its interpreter /bin/sh is not found; no such file or directory"},
		"interpreter of env":      {"#!/usr/bin/env no-such-python3\n", "its interpreter no-such-python3 is not on PATH; exit status 12"},
		"library of glibc":        {"#!/bin/sh\necho \"$0: error while loading shared libraries: libssl.so.1.1: cannot open shared object file\"; exit 127\n", "shared library libssl.so.1.1 cannot be loaded; exit status 127, want 0: "},
		"library of musl":         {"#!/bin/sh\necho \"Error loading shared library libssl.so.1.1: No such file or directory (needed by $0)\"; exit 127\n", "shared library libssl.so.1.1 cannot be loaded; exit status 127, want 0: "},
		"newer library":           {"#!/bin/sh\necho \"$0: /lib/libc.so.6: version \\`GLIBC_2.99' not found (required by $0)\"; exit 1\n", "a shared library is too old: it lacks GLIBC_2.99; exit status 1, want 0: "},
		"nothing but a good exit": {"#!/bin/sh\necho 1.0; exit 127\n", "exit status 127, want 0: 1.0"},
	}
	for name, c := range cases {
		checkDetail(t, name, gates.Executable{Path: program(t, c.content)}, c.detail)
	}
}

func TestExecutable_tellsAVersionThatIsTooOld(t *testing.T) {
	tool := script(t, `echo "tool 2.9.1-rc.2 (using lib 1.0)"`)
	checkDetail(t, "too old", gates.Executable{Path: tool, MinVersion: "2.10"}, "version 2.9.1-rc.2 is older than 2.10: tool 2.9.1-rc.2 (using lib 1.0)")
	checkDetail(t, "pre-release", gates.Executable{Path: tool, MinVersion: "2.9.1"}, "version 2.9.1-rc.2 is older than 2.9.1: tool")
	checkDetail(t, "no version", gates.Executable{Path: script(t, "echo hello"), MinVersion: "1.0"}, "no version found in the output, want at least 1.0: hello")
	checkDetail(t, "no minimum", gates.Executable{Path: tool, MinVersion: "latest"}, "the minimum version latest is not made of numbers and dots")
	for _, passing := range []gates.Executable{
		{Path: tool, MinVersion: "2.9"},
		{Path: tool, MinVersion: "1.0", Match: regexp.MustCompile(`lib (\S+?)\)`)},
	} {
		if _, body := askTest(t, mounted(gates.Required("tool", passing))); !body.OK {
			t.Errorf("minimum %s: %+v", passing.MinVersion, body)
		}
	}
}

func TestExecutable_tellsMissingRightsOnPATH(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rightless-tool"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	_, body := askTest(t, mounted(
		gates.Required("rightless", gates.Executable{Path: "rightless-tool"}),
		gates.Required("directory", gates.Executable{Path: dir}),
	))
	for name, detail := range map[string]string{
		"rightless": "not executable: " + filepath.Join(dir, "rightless-tool") + " lacks the permission",
		"directory": "not executable: a directory",
	} {
		if told := body.Tools[name]; told.Present || told.Detail != detail {
			t.Errorf("%s = %+v, want %q", name, told, detail)
		}
	}
}

// checkDetail wants the tool to be there and to fail with a detail that begins
// like that.
func checkDetail(t *testing.T, name string, kind gates.Executable, detail string) {
	t.Helper()
	_, body := askTest(t, mounted(gates.Required("tool", kind)))
	if told := body.Tools["tool"]; !told.Present || told.Executable || !strings.HasPrefix(told.Detail, detail) {
		t.Errorf("%s: %+v, want %q", name, told, detail)
	}
}

// listNothing makes the program of a Go test end at once with exit status 0.
const listNothing = "-test.list=^$"

// ownProgram is the content of the program that runs this test.
func ownProgram(t *testing.T) []byte {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// parseELF reads the headers of a program of this machine.
func parseELF(t *testing.T, content []byte) *elf.File {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return file
}
