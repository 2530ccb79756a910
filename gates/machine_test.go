package gates

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"testing"
)

func TestArch_isNamedAsGoNamesIt(t *testing.T) {
	const little, big = elf.ELFDATA2LSB, elf.ELFDATA2MSB
	for want, header := range map[string]elf.FileHeader{
		"amd64":   {Machine: elf.EM_X86_64, Data: little},
		"386":     {Machine: elf.EM_386, Data: little},
		"arm64":   {Machine: elf.EM_AARCH64, Data: little},
		"arm":     {Machine: elf.EM_ARM, Data: little},
		"riscv64": {Machine: elf.EM_RISCV, Data: little},
		"s390x":   {Machine: elf.EM_S390, Data: big},
		"loong64": {Machine: elf.EM_LOONGARCH, Data: little},
		"ppc64le": {Machine: elf.EM_PPC64, Data: little},
		"ppc64":   {Machine: elf.EM_PPC64, Data: big},
		"":        {Machine: elf.EM_VAX, Data: little},
	} {
		if got := elfArch(header); got != want {
			t.Errorf("%v is %q, want %q", header.Machine, got, want)
		}
	}
	for cpu, want := range map[macho.Cpu]string{
		macho.CpuAmd64: "amd64", macho.Cpu386: "386", macho.CpuArm64: "arm64", macho.CpuArm: "arm",
		macho.CpuPpc: "ppc", macho.CpuPpc64: "ppc64", 0: "",
	} {
		if got := machoArch(cpu); got != want {
			t.Errorf("%v is %q, want %q", cpu, got, want)
		}
	}
	for machine, want := range map[uint16]string{
		pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_I386: "386",
		pe.IMAGE_FILE_MACHINE_ARM64: "arm64", pe.IMAGE_FILE_MACHINE_ARMNT: "arm", 0: "",
	} {
		if got := peArch(machine); got != want {
			t.Errorf("%#x is %q, want %q", machine, got, want)
		}
	}
}
