package gates

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
)

const (
	// maxHeaders bounds what is read of a program file to understand it, in bytes.
	maxHeaders = 8 << 20
	// maxFirstLine is how much of a #! line Linux reads.
	maxFirstLine = 256
	// maxInterpreter bounds the path of an interpreter in a program's headers.
	maxInterpreter = 4096
)

// image is what a program file tells about itself without being run.
type image struct {
	noProgram   string // what it is instead of a program
	cut         bool   // parts that its headers name lie past its end
	cutInUse    bool   // among them parts that the running program needs
	system      string // the GOOS it was made for, where its format tells
	arch        string // the GOARCH it was made for, where it is known
	interpreter string // what the system starts to run it
	throughEnv  string // the program that its interpreter, env, looks up on PATH
}

// look reads the file at path; an image without a word says that nothing could be
// told. Only regular files are opened, since others may block.
func look(path string) image {
	if about, err := os.Stat(path); err != nil || !about.Mode().IsRegular() {
		return image{}
	}
	file, err := os.Open(path)
	if err != nil {
		return image{}
	}
	defer func() { _ = file.Close() }()
	about, err := file.Stat()
	if err != nil {
		return image{}
	}
	return examine(file, about.Size())
}

// examine tells what can be told of a file of that size. The standard library's
// parsers do not promise to withstand hostile files, hence the limit of what they
// may read and the net below them.
func examine(file io.ReaderAt, size int64) (seen image) {
	defer func() {
		if recover() != nil {
			seen = image{}
		}
	}()
	limited := &limitedReaderAt{file: file, left: maxHeaders}
	begin := make([]byte, 512)
	n, err := limited.ReadAt(begin, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return image{}
	}
	switch begin = begin[:n]; {
	case n == 0:
		return image{noProgram: "an empty file"}
	case bytes.HasPrefix(begin, []byte(elf.ELFMAG)):
		return examineELF(limited, size)
	case bytes.HasPrefix(begin, []byte("#!")):
		return examineScript(begin)
	case bytes.HasPrefix(begin, []byte("MZ")):
		return examinePE(limited, size)
	case isMachO(begin):
		return examineMachO(limited, size)
	}
	return image{noProgram: noProgram(begin)}
}

// noProgram names what a failed download leaves behind.
func noProgram(begin []byte) string {
	kind, _, _ := strings.Cut(http.DetectContentType(begin), ";")
	switch kind {
	case "text/html":
		return "an HTML page"
	case "application/zip", "application/x-gzip", "application/x-rar-compressed":
		return "an archive that was not unpacked (" + kind + ")"
	case "text/plain", "text/xml":
		return "a text without a #! line"
	}
	return ""
}

// examineScript reads a #! line as Linux does: the interpreter ends at a blank,
// and a carriage return is a part of its name.
func examineScript(begin []byte) image {
	line, _, _ := bytes.Cut(begin[:min(len(begin), maxFirstLine)], []byte("\n"))
	words := strings.FieldsFunc(string(line[2:]), func(r rune) bool { return r == ' ' || r == '\t' || r == 0 })
	if len(words) == 0 {
		return image{noProgram: "a script whose #! line names no interpreter"}
	}
	seen := image{interpreter: words[0]}
	if strings.HasSuffix(words[0], "/env") {
		for _, word := range words[1:] {
			if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
				seen.throughEnv = word
				break
			}
		}
	}
	return seen
}

// examineELF looks at the segments too when the table of sections, which stands
// last in most files and which running does not need, is cut off.
func examineELF(file io.ReaderAt, size int64) image {
	seen := image{}
	parsed, err := elf.NewFile(file)
	if err != nil {
		seen.cut = isEnd(err)
		if parsed, err = elf.NewFile(withoutSections(file)); err != nil {
			seen.cutInUse = isEnd(err)
			seen.cut = seen.cut || seen.cutInUse
			return seen
		}
	}
	seen.arch = elfArch(parsed.FileHeader)
	for _, section := range parsed.Sections {
		occupies := section.Type != elf.SHT_NOBITS && section.Type != elf.SHT_NULL
		seen.cut = seen.cut || occupies && past(section.Offset, section.FileSize, size)
	}
	for _, segment := range parsed.Progs {
		seen.cutInUse = seen.cutInUse || segment.Type == elf.PT_LOAD && past(segment.Off, segment.Filesz, size)
		if segment.Type == elf.PT_INTERP {
			path, _ := io.ReadAll(io.LimitReader(segment.Open(), maxInterpreter))
			seen.interpreter = string(bytes.TrimRight(path, "\x00"))
		}
	}
	seen.cut = seen.cut || seen.cutInUse
	return seen
}

// The place in a PE file that says where its header is, and in that header the
// symbol table's place and length, with the size of one symbol.
const (
	peHeader      = 0x3c
	peSymbols     = 8
	peSymbolBytes = 18
)

// examinePE looks for the symbol table itself, which stands last: the parser's
// errors about it do not tell whether it is cut off.
func examinePE(file io.ReaderAt, size int64) image {
	seen := image{system: "windows"}
	field := make([]byte, 8)
	if _, err := file.ReadAt(field[:4], peHeader); err != nil {
		seen.cut = isEnd(err)
		return seen
	}
	header := int64(binary.LittleEndian.Uint32(field)) + 4
	if _, err := file.ReadAt(field, header+peSymbols); err != nil {
		seen.cut = isEnd(err)
		return seen
	}
	symbols, count := binary.LittleEndian.Uint32(field), binary.LittleEndian.Uint32(field[4:])
	seen.cut = symbols > 0 && past(uint64(symbols), uint64(count)*peSymbolBytes, size)
	parsed, err := pe.NewFile(file)
	if err != nil {
		seen.cut = seen.cut || isEnd(err)
		return seen
	}
	seen.arch = peArch(parsed.Machine)
	for _, section := range parsed.Sections {
		seen.cut = seen.cut || past(uint64(section.Offset), uint64(section.Size), size)
	}
	return seen
}

// isMachO tells the format by its first bytes, in both byte orders and for one or
// more machines. A Java class file begins like the latter; its next number is a
// version, which is higher than any number of machines.
func isMachO(begin []byte) bool {
	if len(begin) < 8 {
		return false
	}
	switch [4]byte(begin) {
	case [4]byte{0xfe, 0xed, 0xfa, 0xce}, [4]byte{0xfe, 0xed, 0xfa, 0xcf},
		[4]byte{0xce, 0xfa, 0xed, 0xfe}, [4]byte{0xcf, 0xfa, 0xed, 0xfe}:
		return true
	case [4]byte{0xca, 0xfe, 0xba, 0xbe}:
		return begin[4] == 0 && begin[5] == 0 && begin[6] == 0 && begin[7] < 20
	}
	return false
}

// examineMachO leaves the machine of a file for several machines open.
func examineMachO(file io.ReaderAt, size int64) image {
	seen := image{system: "darwin"}
	several, err := macho.NewFatFile(file)
	if err == nil {
		for _, arch := range several.Arches {
			seen.cut = seen.cut || past(uint64(arch.Offset), uint64(arch.Size), size)
		}
		return seen
	}
	if !errors.Is(err, macho.ErrNotFat) {
		seen.cut = isEnd(err)
		return seen
	}
	parsed, err := macho.NewFile(file)
	if err != nil {
		seen.cut = isEnd(err)
		return seen
	}
	seen.arch = machoArch(parsed.Cpu)
	for _, load := range parsed.Loads {
		if segment, ok := load.(*macho.Segment); ok {
			seen.cut = seen.cut || past(segment.Offset, segment.Filesz, size)
		}
	}
	return seen
}

// past reports whether a part of a file lies beyond its end.
func past(offset, length uint64, size int64) bool {
	end := offset + length
	return length > 0 && (end < offset || end > uint64(max(size, 0)))
}

func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

var errTooManyHeaders = errors.New("the headers are too large")

// limitedReaderAt ends with an error once it has been asked for too much.
type limitedReaderAt struct {
	file io.ReaderAt
	left int
}

func (l *limitedReaderAt) ReadAt(p []byte, offset int64) (int, error) {
	if len(p) > l.left {
		return 0, errTooManyHeaders
	}
	l.left -= len(p)
	return l.file.ReadAt(p, offset)
}

// blanked is a file some of whose ranges read as zeros.
type blanked struct {
	file   io.ReaderAt
	ranges [][2]int64
}

func (b blanked) ReadAt(p []byte, offset int64) (int, error) {
	n, err := b.file.ReadAt(p, offset)
	for _, zeros := range b.ranges {
		from, to := max(zeros[0]-offset, 0), min(zeros[1]-offset, int64(n))
		if from < to {
			clear(p[from:to])
		}
	}
	return n, err
}

// withoutSections is an ELF file whose header says that it has no sections: it
// blanks the place of their table, and its length and names.
func withoutSections(file io.ReaderAt) io.ReaderAt {
	class := make([]byte, 1)
	if _, err := file.ReadAt(class, elf.EI_CLASS); err == nil && elf.Class(class[0]) == elf.ELFCLASS64 {
		return blanked{file, [][2]int64{{0x28, 0x30}, {0x3c, 0x40}}}
	}
	return blanked{file, [][2]int64{{0x20, 0x24}, {0x30, 0x34}}}
}
