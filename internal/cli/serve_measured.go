package cli

import (
	"context"
	"log/slog"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/telemetry"
)

// measured is how serve shows what it does, to Prometheus and to a collector of
// traces. It is there before the parts that it measures.
type measured struct {
	metrics *telemetry.Metrics
	tracing *telemetry.Tracing
	sources *sources
}

// sources are what the metrics read when they are scraped; they are set before the
// server listens.
type sources struct {
	*task.Overview

	glance *examiner.Glance
}

func (s *sources) readings(ctx context.Context) ([]registry.Reading, error) {
	return s.glance.Readings(ctx)
}

// newMeasured fails for an environment that asks for traces which cannot be sent.
// Faults: InvalidArgument.
func newMeasured(ctx context.Context, p *process, log *slog.Logger) (measured, error) {
	tracing, err := telemetry.NewTracing(ctx, p.Getenv, version, log)
	if err != nil {
		return measured{}, err
	}
	read := &sources{}
	return measured{
		metrics: telemetry.NewMetrics(telemetry.MetricsOptions{Version: version, Readings: read.readings, Tasks: read}),
		tracing: tracing, sources: read,
	}, nil
}
