package web_test

import (
	"encoding/json"
	"html"
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
	ends := map[string]string{"task": options.ForTasks, "component": options.ForRegistry, "preflight": options.ForRegistry, "probe": options.ForRegistry}
	found := map[string]int{}
	look := func(options web.Options, addresses ...string) {
		for _, address := range addresses {
			for _, match := range printed.FindAllStringSubmatch(visit(t, options, address).Body.String(), -1) {
				command := html.UnescapeString(match[1])
				verb := strings.Fields(command)[1]
				if end, is := ends[verb]; is && !strings.Contains(command, "http://") {
					found[verb]++
					if !strings.HasSuffix(command, " "+end) {
						t.Errorf("%s prints %q, want %q at its end", address, command, end)
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
