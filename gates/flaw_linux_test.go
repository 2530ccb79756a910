package gates_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/gates"
)

func TestExecutable_tellsATruncatedProgram(t *testing.T) {
	const truncated = "truncated: parts that its headers name lie past the end of the file"
	own := ownProgram(t)
	var loaded uint64
	for _, segment := range parseELF(t, own).Progs {
		if segment.Type == elf.PT_LOAD {
			loaded = max(loaded, segment.Off+segment.Filesz)
		}
	}
	for name, length := range map[string]int{
		"a quarter":            len(own) / 4,
		"a half":               len(own) / 2,
		"all but the last one": int(loaded) - 1,
	} {
		checkDetail(t, name, gates.Executable{Path: program(t, string(own[:length])), Args: []string{listNothing}}, truncated)
	}
	complete := gates.Executable{Path: program(t, string(own)), Args: []string{listNothing}}
	if _, body := askTest(t, mounted(gates.Required("tool", complete))); !body.OK {
		t.Errorf("the whole program: %+v", body)
	}
}

// TestExecutable_tellsAnotherMachine changes the machine in the header to one for
// which no emulator is registered: that of a little-endian S/390.
func TestExecutable_tellsAnotherMachine(t *testing.T) {
	content := ownProgram(t)
	binary.LittleEndian.PutUint16(content[18:], uint16(elf.EM_S390))
	checkDetail(t, "another machine", gates.Executable{Path: program(t, string(content)), Args: []string{listNothing}},
		"wrong architecture: made for s390x, and this is "+runtime.GOARCH+"; exec format error")
}

func TestExecutable_tellsWhatADynamicProgramLacks(t *testing.T) {
	content := dynamicProgram(t)
	parsed := parseELF(t, content)

	libraries, err := parsed.ImportedLibraries()
	if err != nil || len(libraries) == 0 {
		t.Fatalf("the program needs the libraries %v (%v)", libraries, err)
	}
	lost := libraries[0][:len(libraries[0])-1] + "~"
	names := parsed.Section(".dynstr")
	checkDetail(t, "library", gates.Executable{Path: program(t, patched(t, content, names.Offset, libraries[0], lost))},
		"shared library "+lost+" cannot be loaded; exit status 127, want 0: ")

	for _, segment := range parsed.Progs {
		if segment.Type == elf.PT_INTERP {
			linker := strings.TrimRight(string(content[segment.Off:segment.Off+segment.Filesz]), "\x00")
			lost := linker[:len(linker)-1] + "~"
			checkDetail(t, "linker", gates.Executable{Path: program(t, patched(t, content, segment.Off, linker, lost))},
				"its interpreter "+lost+" does not exist; no such file or directory")
		}
	}
}

// dynamicProgram is the content of a program that needs shared libraries.
func dynamicProgram(t *testing.T) []byte {
	t.Helper()
	for _, path := range []string{"/bin/sh", "/bin/ls", "/usr/bin/env", "/proc/self/exe"} {
		content, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(content, []byte(elf.ELFMAG)) {
			continue
		}
		if libraries, err := parseELF(t, content).ImportedLibraries(); err == nil && len(libraries) > 0 {
			return content
		}
	}
	t.Fatal("no program here needs a shared library")
	return nil
}

// patched replaces the first occurrence of a text behind an offset by one of the
// same length.
func patched(t *testing.T, content []byte, offset uint64, old, replacement string) string {
	t.Helper()
	at := bytes.Index(content[offset:], append([]byte(old), 0))
	if at < 0 {
		t.Fatalf("%q is not in the program", old)
	}
	content = slices.Clone(content)
	copy(content[int(offset)+at:], replacement)
	return string(content)
}
