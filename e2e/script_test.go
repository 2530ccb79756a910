//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts_ofTheGate runs the scripts of testdata/script/gate on both
// databases: $DB is the --db of a new one.
func TestScripts_ofTheGate(t *testing.T) {
	t.Parallel()
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runScripts(t, "gate", open)
		})
	}
}

// TestScripts_ofFilesAndAddresses runs the scripts that need no second database.
func TestScripts_ofFilesAndAddresses(t *testing.T) {
	t.Parallel()
	runScripts(t, "machine", sqlite)
}

func runScripts(t *testing.T, folder string, open func(t *testing.T) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "script", folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d scripts in %s (%v)", len(files), folder, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			database := open(t)
			testscript.Run(t, testscript.Params{
				Files:               []string{file},
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				UpdateScripts:       *update,
				Cmds:                scriptCommands(),
				Setup: func(env *testscript.Env) error {
					home := filepath.Join(env.WorkDir, "home")
					env.Setenv("DB", database)
					env.Setenv("HOME", home)
					env.Setenv("NO_COLOR", "1")
					env.Setenv("PATH", binaryFolder()+":"+os.Getenv("PATH"))
					return os.Mkdir(home, 0o700)
				},
			})
		})
	}
}
