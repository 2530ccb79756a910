package telemetry_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/telemetry"
)

func TestNewTracing_refusesHeadersThatCannotBeReadAndRepeatsNoneOfThem(t *testing.T) {
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for value, taken := range map[string]bool{
			"Bearer hunter2":                  false,
			"authorization=Basic hunter2%zz":  false,
			"hunter2 x=1":                     false,
			"=hunter2":                        false,
			"a=1,hunter2":                     false,
			"authorization=Bearer%20hunter2,": true,
			" a = 1 , b = hunter2= ":          true,
		} {
			getenv := variables(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", variable: value})
			tracing, err := telemetry.NewTracing(t.Context(), getenv, "1.2.3", slog.New(slog.DiscardHandler))
			tracing.Shutdown(t.Context())
			if taken {
				if err != nil {
					t.Errorf("%s=%s: %v", variable, value, err)
				}
				continue
			}
			refused, is := fault.Of(err)
			if !is || refused.Code != fault.InvalidArgument || refused.Details[fault.Field] != variable || strings.Contains(err.Error()+refused.Hint, "hunter2") {
				t.Errorf("%s=%s: %v", variable, value, err)
			}
			t.Setenv(variable, "")
		}
	}
}
