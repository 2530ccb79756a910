package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/countersign-dev/countersign/internal/fault"
)

// problem answers with a fault as application/problem+json (RFC 9457).
func problem(w http.ResponseWriter, status int, refusal *fault.Error) {
	shape := struct {
		Title  string     `json:"title"`
		Status int        `json:"status"`
		Detail string     `json:"detail"`
		Code   fault.Code `json:"code"`
		Hint   string     `json:"hint,omitempty"`
	}{http.StatusText(status), status, refusal.Message, refusal.Code, refusal.Hint}
	noteRefusal(w, refusal.Code)
	header := w.Header()
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A client that has gone cannot be told.
	_ = json.NewEncoder(w).Encode(shape)
}
