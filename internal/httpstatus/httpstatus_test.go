package httpstatus_test

import (
	"net/http"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/httpstatus"
)

func TestOf_hasAStatusForEveryCode(t *testing.T) {
	for _, code := range fault.Codes() {
		want := http.StatusInternalServerError
		switch got := httpstatus.Of(code); {
		case code == fault.Internal && got != want:
			t.Errorf("%s is answered %d", code, got)
		case code != fault.Internal && (got < 400 || got == want || http.StatusText(got) == ""):
			t.Errorf("%s is answered %d", code, got)
		}
	}
}
