package web_test

import (
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/web"
)

// printed is a command that a page prints to be copied.
var printed = regexp.MustCompile(`aria-label="A command"><code>([^<]*)</code>`)

// A command that is copied must reach the database that the page shows.
func TestCommands_nameTheDatabaseAndTheConfiguration(t *testing.T) {
	options := foreign(asItIs).opened(t)
	options.ForTasks, options.ForRegistry = "--db '/srv/our gate.db'", "--config /srv/gate.yaml --db '/srv/our gate.db'"
	empty := options
	empty.Fleet, empty.Runs, empty.Tasks, empty.Agents = &fleetDouble{}, &fleetDouble{}, &gateDouble{}, &countDouble{}
	ends := map[string]string{"task": options.ForTasks, "serve": options.ForTasks, "component": options.ForRegistry, "preflight": options.ForRegistry, "probe": options.ForRegistry}
	found := map[string]int{}
	look := func(options web.Options, addresses ...string) {
		for _, address := range addresses {
			for _, match := range printed.FindAllStringSubmatch(visit(t, options, address).Body.String(), -1) {
				command := html.UnescapeString(match[1])
				verb := strings.Fields(command)[1]
				if end, is := ends[verb]; is && !strings.Contains(command, "http://") {
					found[verb]++
					if !strings.HasSuffix(command, " "+end) && !strings.Contains(command, " "+end+" --") {
						t.Errorf("%s prints %q, want %q in it", address, command, end)
					}
				}
			}
		}
	}
	fresh := options
	fleet := foreign(asItIs).fleet(t)
	view := fleet.views["files"]
	view.Result, view.ResultID = nil, nil
	fleet.views["files"] = view
	fresh.Fleet = fleet
	options.Tasks = wholeTask(task.Claimed)
	look(options, "/components/scanner", "/runs/nightly", "/tasks/"+string(taskOf(1)))
	look(empty, "/", "/tasks", "/runs")
	look(fresh, "/components/files")
	for verb := range ends {
		if found[verb] == 0 {
			t.Errorf("no page prints a command %s: the test looks at too little", verb)
		}
	}
}

// What to do about a cause names commands within a sentence.
func TestHints_nameTheConfigurationToo(t *testing.T) {
	server := foreign(asItIs).results()["files"].(*registry.ProbeResult)
	server.Test = registry.Fail(0, registry.CanaryFailed, "the folder is empty")
	document, err := json.Marshal(server)
	if err != nil {
		t.Fatal(err)
	}
	fleet := foreign(asItIs).fleet(t)
	view := fleet.views["files"]
	view.Result = document
	fleet.views["files"] = view
	page := mainOf(t, visit(t, web.Options{Fleet: fleet, ForRegistry: "--config /srv/gate.yaml"}, "/components/files").Body.String())
	if !strings.Contains(page, "countersign probe files --config /srv/gate.yaml --explain") || strings.Contains(page, "TARGET") {
		t.Errorf("no hint names the file:\n%s", page)
	}
}

// placeholder is what a command has in the place of what only its reader knows.
var placeholder = regexp.MustCompile(`<[a-z|-]+>`)

// A command is pasted as it is printed: a verdict on it is final. So one with a
// placeholder must not run, whatever the shell is, nor write a file.
func TestCommands_withPlaceholdersDoNothingInAShell(t *testing.T) {
	const marker = "ran"
	tools := t.TempDir()
	standIn := "#!/bin/sh\n: > '" + filepath.Join(tools, marker) + "'\n"
	if err := os.WriteFile(filepath.Join(tools, "countersign"), []byte(standIn), 0o700); err != nil {
		t.Fatal(err)
	}
	paste := func(line string) (ran bool, written int) {
		folder := t.TempDir()
		shell := exec.CommandContext(t.Context(), "sh")
		shell.Dir, shell.Stdin = folder, strings.NewReader(line+"\n")
		shell.Env = append(os.Environ(), "PATH="+tools+string(filepath.ListSeparator)+os.Getenv("PATH"))
		_ = shell.Run() // that it is refused is what is looked for, by what is left behind
		files, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		return os.Remove(filepath.Join(tools, marker)) == nil, len(files)
	}
	if ran, _ := paste("countersign task list"); !ran {
		t.Fatal("a shell does not find the stand-in for countersign")
	}
	for _, flags := range []string{"", "--db '/srv/our gate.db'"} {
		for address, wanted := range map[string]int{
			"/tasks/" + string(task.Pending): 1, "/tasks/" + string(task.Claimed): 1, "/tasks/" + string(task.Rejected): 1,
			"/tasks?status=pending": 1, "/tasks?status=claimed": 1, "/tasks?status=verified": 1, "/tasks?status=rejected": 1, "/agents": 3,
		} {
			gate := &gateDouble{page: task.Page{Counts: task.Counts{Pending: 1}}}
			if status, of := strings.CutPrefix(address, "/tasks/"); of {
				gate = wholeTask(task.Status(status))
			}
			page := visit(t, web.Options{Tasks: gate, Agents: &countDouble{}, ForTasks: flags}, address).Body.String()
			found := 0
			for _, match := range printed.FindAllStringSubmatch(page, -1) {
				command := html.UnescapeString(match[1])
				if !placeholder.MatchString(command) {
					t.Errorf("%s prints %q, which has no placeholder", address, command)
				}
				found++
				if ran, written := paste(command); ran || written != 0 {
					t.Errorf("%s prints %q, and a shell runs it: %v, and writes %d files", address, command, ran, written)
				}
			}
			if found != wanted {
				t.Errorf("%s prints %d commands, want %d", address, found, wanted)
			}
		}
	}
}
