package fault_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
)

func TestCodes_haveAMeaningAndAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[fault.Code]bool{}
	for _, code := range fault.Codes() {
		if seen[code] {
			t.Errorf("code %s is listed twice", code)
		}
		seen[code] = true
		if code.Meaning() == "" || !strings.HasPrefix(string(code), "E_") {
			t.Errorf("code %q has the meaning %q", code, code.Meaning())
		}
	}
	if got := fault.Code("E_OTHER").Meaning(); got != "" {
		t.Errorf("an unknown code means %q", got)
	}
}

func TestError_isItsCodeThroughWrapping(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk on fire")
	err := fmt.Errorf("claim task 7: %w", fault.New(fault.Unavailable, "busy").WithCause(cause))
	if !errors.Is(err, fault.Unavailable) || errors.Is(err, fault.NotFound) {
		t.Errorf("%v is not recognised by its code alone", err)
	}
	if !errors.Is(err, cause) {
		t.Errorf("%v hides its cause from errors.Is", err)
	}
	if got, ok := fault.Of(err); !ok || got.Code != fault.Unavailable {
		t.Errorf("Of(%v) = %v, %v", err, got, ok)
	}
	if _, ok := fault.Of(cause); ok {
		t.Error("a plain error passes for a fault")
	}
}

func TestError_marshalsWithoutItsCause(t *testing.T) {
	t.Parallel()
	err := fault.New(fault.WrongState, "task is %s", "pending").WithHint("Call claim_done first.").
		With(fault.CurrentStatus, "pending").With("code", "E_FORGED").WithCause(errors.New("secret"))
	got, failed := json.Marshal(err)
	if failed != nil {
		t.Fatal(failed)
	}
	want := `{"code":"E_WRONG_STATE","current_status":"pending","hint":"Call claim_done first.","message":"task is pending"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("shape (-want +got):\n%s", diff)
	}
}

func TestWith_leavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	first := fault.New(fault.NotFound, "no task").With(fault.Field, "task_id")
	second := first.With(fault.Limit, 3)
	if _, grown := first.Details[fault.Limit]; grown || len(second.Details) != 2 {
		t.Errorf("first has %v, second %v", first.Details, second.Details)
	}
}

func TestHidden_showsOnlyTheReference(t *testing.T) {
	t.Parallel()
	hidden := fault.Hidden("ref-1")
	if hidden.Code != fault.Internal || hidden.Details[fault.Reference] != "ref-1" || !strings.Contains(hidden.Hint, "ref-1") {
		t.Errorf("got %+v", hidden)
	}
}

func TestError_saysACauseOnce(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk on fire")
	for message, want := range map[string]string{
		"busy":                "E_UNAVAILABLE: busy: disk on fire",
		"busy: disk on fire":  "E_UNAVAILABLE: busy: disk on fire",
		"disk on fire, again": "E_UNAVAILABLE: disk on fire, again: disk on fire",
	} {
		if err := fault.New(fault.Unavailable, "%s", message).WithCause(cause); err.Error() != want || !errors.Is(err, cause) {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}
