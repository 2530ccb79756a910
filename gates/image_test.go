package gates

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"io"
	"math"
	"os"
	"strings"
	"testing"
)

// madeELF is the header of a 64-bit ELF file with one loaded segment of some
// length, at its beginning, and an interpreter in it.
func madeELF(machine elf.Machine, length uint64, interpreter string) []byte {
	var file bytes.Buffer
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 2,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	for _, part := range []any{
		header,
		elf.Prog64{Type: uint32(elf.PT_INTERP), Off: 64 + 2*56, Filesz: uint64(len(interpreter)) + 1},
		elf.Prog64{Type: uint32(elf.PT_LOAD), Filesz: length},
		append([]byte(interpreter), 0),
	} {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return file.Bytes()
}

// madeMachO is a 64-bit Mach-O file for arm64 with one segment of some length.
func madeMachO(length uint64) []byte {
	var file bytes.Buffer
	segment := macho.Segment64{Cmd: macho.LoadCmdSegment64, Len: 72, Filesz: length}
	header := macho.FileHeader{Magic: macho.Magic64, Cpu: macho.CpuArm64, Type: macho.TypeExec, Ncmd: 1, Cmdsz: 72}
	for _, part := range []any{header, uint32(0), segment} {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return file.Bytes()
}

// madeFat is a Mach-O file for two machines, each of whose parts has some length.
func madeFat(length uint32) []byte {
	part := madeMachO(0)
	file := binary.BigEndian.AppendUint32(nil, macho.MagicFat)
	file = binary.BigEndian.AppendUint32(file, 2)
	for i, cpu := range []macho.Cpu{macho.CpuArm64, macho.CpuAmd64} {
		for _, field := range []uint32{uint32(cpu), uint32(i), 64, length, 0} {
			file = binary.BigEndian.AppendUint32(file, field)
		}
	}
	return append(append(file, make([]byte, 64-len(file))...), part...)
}

// madePE is a Windows program for arm64 with one section of some length.
func madePE(length uint32) []byte {
	file := bytes.NewBuffer(make([]byte, 128))
	copy(file.Bytes(), "MZ")
	file.Bytes()[0x3c] = 128
	for _, part := range []any{
		[]byte("PE\x00\x00"),
		pe.FileHeader{Machine: pe.IMAGE_FILE_MACHINE_ARM64, NumberOfSections: 1},
		pe.SectionHeader32{SizeOfRawData: length, PointerToRawData: 1},
	} {
		if err := binary.Write(file, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return file.Bytes()
}

func examined(content []byte) image { return examine(bytes.NewReader(content), int64(len(content))) }

func TestExamine_tellsWhatAFileIs(t *testing.T) {
	whole := madeELF(elf.EM_AARCH64, 64, "/lib/ld.so")
	cases := map[string]struct {
		content string
		want    image
	}{
		"ELF":                    {string(whole), image{arch: "arm64", interpreter: "/lib/ld.so"}},
		"ELF with a segment cut": {string(madeELF(elf.EM_X86_64, 1<<20, "/i")), image{arch: "amd64", interpreter: "/i", cut: true, cutInUse: true}},
		"ELF with an overflow":   {string(madeELF(elf.EM_X86_64, math.MaxInt64, "/i")), image{arch: "amd64", interpreter: "/i", cut: true, cutInUse: true}},
		"ELF without a header":   {string(whole[:20]), image{cut: true, cutInUse: true}},
		"ELF that is nonsense":   {"\x7fELF\x09\x09" + strings.Repeat("\xff", 200), image{}},
		"Windows program":        {string(madePE(8)), image{system: "windows", arch: "arm64"}},
		"Windows section, cut":   {string(madePE(1 << 20)), image{system: "windows", arch: "arm64", cut: true}},
		"Mach-O":                 {string(madeMachO(8)), image{system: "darwin", arch: "arm64"}},
		"Mach-O segment, cut":    {string(madeMachO(1 << 40)), image{system: "darwin", arch: "arm64", cut: true}},
		"fat Mach-O":             {string(madeFat(104)), image{system: "darwin"}},
		"fat Mach-O part, cut":   {string(madeFat(1 << 20)), image{system: "darwin", cut: true}},
		"Windows program, cut":   {"MZ" + strings.Repeat("\x00", 20), image{system: "windows", cut: true}},
		"Mach-O, cut":            {"\xcf\xfa\xed\xfe\x07\x00\x00\x01", image{system: "darwin", cut: true}},
		"Java class":             {"\xca\xfe\xba\xbe\x00\x00\x00\x41" + strings.Repeat("\x00", 40), image{}},
		"empty":                  {"", image{noProgram: "an empty file"}},
		"page":                   {"\n <!DOCTYPE html><title>404</title>", image{noProgram: "an HTML page"}},
		"archive":                {"\x1f\x8b\x08" + strings.Repeat("\x00", 20), image{noProgram: "an archive that was not unpacked (application/x-gzip)"}},
		"text":                   {"Not Found", image{noProgram: "a text without a #! line"}},
		"bytes":                  {"\x00\x01\x02\x03", image{}},
		"script":                 {"#! /bin/sh -e\n", image{interpreter: "/bin/sh"}},
		"script of Windows":      {"#!/bin/sh\r\n", image{interpreter: "/bin/sh\r"}},
		"script through env":     {"#!/usr/bin/env -S A=1 python3 -u\n", image{interpreter: "/usr/bin/env", throughEnv: "python3"}},
		"script without a name":  {"#!\n/bin/sh\n", image{noProgram: "a script whose #! line names no interpreter"}},
	}
	for name, c := range cases {
		if got := examined([]byte(c.content)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestExamine_ofItself looks at the program that runs this test, whole and cut
// at many places.
func TestExamine_ofItself(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if seen := examined(content); seen.cut || seen.noProgram != "" || seen.arch == "" {
		t.Errorf("whole: %+v", seen)
	}
	for eighth := range 8 {
		if seen := examined(content[:max(64, len(content)*eighth/8)]); !seen.cut {
			t.Errorf("%d/8 of it: %+v, want it cut", eighth, seen)
		}
	}
}

// endless is a file of any size that begins with some bytes and goes on with
// zeros, and counts what is read of it.
type endless struct {
	begin []byte
	read  int
}

func (e *endless) ReadAt(p []byte, offset int64) (int, error) {
	e.read += len(p)
	clear(p)
	if offset < int64(len(e.begin)) {
		copy(p, e.begin[offset:])
	}
	return len(p), nil
}

func TestExamine_readsLittleOfAHugeFile(t *testing.T) {
	hostile := madeELF(elf.EM_X86_64, 64, "/i")
	sections := elf.Section64{Type: uint32(elf.SHT_STRTAB), Size: 1 << 40}
	var table bytes.Buffer
	if err := binary.Write(&table, binary.LittleEndian, sections); err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(hostile[0x28:], uint64(len(hostile)))
	binary.LittleEndian.PutUint16(hostile[0x3a:], 64)
	binary.LittleEndian.PutUint16(hostile[0x3c:], 1)
	hostile = append(hostile, table.Bytes()...)
	for name, begin := range map[string][]byte{
		"ELF":    hostile,
		"PE":     append([]byte("MZ"), bytes.Repeat([]byte{0xff}, 510)...),
		"Mach-O": append([]byte("\xcf\xfa\xed\xfe"), bytes.Repeat([]byte{0xff}, 508)...),
		"fat":    append([]byte("\xca\xfe\xba\xbe\x00\x00\x00\x10"), bytes.Repeat([]byte{0xff}, 504)...),
	} {
		file := &endless{begin: begin}
		seen := examine(file, 1<<41)
		if file.read > maxHeaders+64 || len(seen.interpreter) > maxInterpreter {
			t.Errorf("%s: read %d bytes: %+v", name, file.read, seen)
		}
	}
}

func TestExamine_survivesAPanicAndAnErrorOfTheFile(t *testing.T) {
	if seen := examine(failing{}, 100); seen != (image{}) {
		t.Errorf("a file that fails: %+v", seen)
	}
	if seen := examine(failing{panics: true}, 100); seen != (image{}) {
		t.Errorf("a file that panics: %+v", seen)
	}
	if seen := look(os.DevNull); seen != (image{}) {
		t.Errorf("a device: %+v", seen)
	}
}

type failing struct{ panics bool }

func (f failing) ReadAt([]byte, int64) (int, error) {
	if f.panics {
		panic("read")
	}
	return 0, io.ErrNoProgress
}

// FuzzExamine_isBoundedAndConsistent holds what is told of a file against what
// is told of the same file with more behind it: nothing is cut off by that.
func FuzzExamine_isBoundedAndConsistent(f *testing.F) {
	f.Add(madeELF(elf.EM_X86_64, 64, "/lib64/ld-linux-x86-64.so.2"))
	f.Add(madeELF(elf.EM_S390, 1<<40, strings.Repeat("x", 5000)))
	f.Add(madeMachO(8))
	f.Add(madeFat(104))
	f.Add(madePE(8))
	for _, begin := range []string{"#!/usr/bin/env node\n", "MZ\x90", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe\x00\x00\x00\x02", "<html>", ""} {
		f.Add([]byte(begin))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		seen := examined(content)
		if len(seen.interpreter) > maxInterpreter || len(seen.throughEnv) > maxFirstLine {
			t.Errorf("unbounded: %d and %d bytes", len(seen.interpreter), len(seen.throughEnv))
		}
		if seen.cutInUse && !seen.cut {
			t.Errorf("cut where it is used, but not cut: %+v", seen)
		}
		if seen.noProgram != "" && (seen.cut || seen.arch != "" || seen.interpreter != "") {
			t.Errorf("no program, but told as one: %+v", seen)
		}
		longer := examine(bytes.NewReader(append(content, make([]byte, 4096)...)), int64(len(content))+4096)
		if bytes.HasPrefix(content, []byte(elf.ELFMAG)) && longer.cutInUse && !seen.cutInUse {
			t.Errorf("cut only when longer: %+v, %+v", seen, longer)
		}
	})
}
