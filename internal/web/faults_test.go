package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/web"
)

const secret = "constraint of hunter2"

// lost is what the database says that cannot be reached, with its cause.
func lost() error {
	return fmt.Errorf("list: %w", fault.New(fault.Unavailable, "the database <is> gone").WithHint("start it again <now>").WithCause(errors.New(secret)))
}

// everyone fails by err whoever is asked.
func everyone(err error) web.Options {
	return web.Options{
		Tasks: &gateDouble{listed: err, onRecord: err, read: err}, Agents: &countDouble{err: err},
		Fleet: &fleetDouble{err: err}, Runs: &fleetDouble{err: err},
	}
}

// addresses are pages that ask somebody, with how often they do.
func addresses() map[string]int {
	return map[string]int{"/": 3, "/components": 1, "/components/a": 1, "/runs": 1, "/runs/a": 1, "/tasks": 1, "/tasks/x": 1, "/agents": 1}
}

func TestPages_logOnceWhyTheyCannotBeReadAndSayWhatToDo(t *testing.T) {
	for address, asked := range addresses() {
		var log bytes.Buffer
		options := everyone(lost())
		options.Log = slog.New(slog.NewTextHandler(&log, nil))
		page := visit(t, options, address).Body.String()
		if got := strings.Count(log.String(), "level=WARN"); got != asked || strings.Count(log.String(), secret) != asked {
			t.Errorf("%s: the log tells the cause %d times, want %d:\n%s", address, got, asked, log.String())
		}
		if strings.Contains(page, secret) || strings.Count(page, "Start it again &lt;now&gt;.") != asked {
			t.Errorf("%s does not say what to do, or says too much:\n%s", address, mainOf(t, page))
		}
	}
}

// hidden is how a page refers to the log.
var hidden = regexp.MustCompile(`Look for reference ([A-Z2-7]{26}) in Countersign`)

func TestPages_hideInternalFaultsBehindAReference(t *testing.T) {
	for name, err := range map[string]error{
		"a fault of the store": fault.New(fault.Internal, "tasks_forward_only refused it").WithHint("see " + secret).WithCause(errors.New(secret)),
		"no fault":             errors.New(secret),
	} {
		for address, asked := range addresses() {
			var log bytes.Buffer
			options := everyone(fmt.Errorf("read: %w", err))
			options.Log = slog.New(slog.NewTextHandler(&log, nil))
			page := visit(t, options, address).Body.String()
			found := hidden.FindAllStringSubmatch(page, -1)
			if len(found) != asked || strings.Contains(page, secret) || strings.Contains(page, "tasks_forward_only") {
				t.Errorf("%s, %s:\n%s", name, address, mainOf(t, page))
			}
			for _, each := range found {
				if strings.Count(log.String(), "reference="+each[1]) != 1 {
					t.Errorf("%s, %s: the log does not tell of reference %s:\n%s", name, address, each[1], log.String())
				}
			}
			if got := strings.Count(log.String(), "level=ERROR"); got != asked {
				t.Errorf("%s, %s: %d errors are logged, want %d", name, address, got, asked)
			}
		}
	}
}

func TestTask_tellsInItsOwnWordsAndLogsThatItsRecordWasAltered(t *testing.T) {
	var log bytes.Buffer
	gate := wholeTask(task.Verified)
	gate.onRecord = task.Altered(taskOf(1), errors.New("the notes differ"))
	answer := visit(t, web.Options{Tasks: gate, Log: slog.New(slog.NewTextHandler(&log, nil))}, "/tasks/x")
	if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), "the notes differ") || !strings.Contains(log.String(), "the record of a task was altered") {
		t.Errorf("the answer is %d; the log: %s", answer.Code, log.String())
	}
}

// What a visitor did is no concern of an operator.
func TestPages_logNothingOfWhatAVisitorMistook(t *testing.T) {
	var log bytes.Buffer
	options := everyone(fault.New(fault.NotFound, "there is nothing of the name"))
	options.Log = slog.New(slog.NewTextHandler(&log, nil))
	for address := range addresses() {
		visit(t, options, address)
	}
	if log.Len() > 0 {
		t.Errorf("the log tells:\n%s", log.String())
	}
}

// leaver is a fleet whose visitor leaves while it is asked.
type leaver struct {
	*fleetDouble

	leave context.CancelFunc
}

func (l leaver) Components(ctx context.Context, _ registry.ComponentQuery) (registry.ComponentPage, error) {
	l.leave()
	return registry.ComponentPage{}, ctx.Err()
}

func TestPages_logNothingWhenTheirVisitorHasLeft(t *testing.T) {
	var log bytes.Buffer
	ctx, leave := context.WithCancel(t.Context())
	answer := visitWithin(ctx, t, web.Options{Fleet: leaver{&fleetDouble{}, leave}, Log: slog.New(slog.NewTextHandler(&log, nil))}, "/components")
	if log.Len() > 0 || answer.Code != http.StatusServiceUnavailable {
		t.Errorf("the answer is %d; the log:\n%s", answer.Code, log.String())
	}
}

// A page is answered as the API would be.
func TestPages_areAnsweredWithTheStatusOfTheFault(t *testing.T) {
	for code, want := range map[fault.Code]int{
		fault.NotFound: http.StatusNotFound, fault.InvalidArgument: http.StatusBadRequest, fault.TooLarge: http.StatusRequestEntityTooLarge,
		fault.Unavailable: http.StatusServiceUnavailable, fault.Internal: http.StatusInternalServerError,
	} {
		answer := visit(t, everyone(fault.New(code, "no")), "/components/a")
		if again := answer.Header().Get("Retry-After"); answer.Code != want || (again == "1") != (want == http.StatusServiceUnavailable) {
			t.Errorf("%s is answered with %d, Retry-After %q", code, answer.Code, again)
		}
	}
}
