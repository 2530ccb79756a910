package telemetry

import "time"

// FlushWithin bounds Shutdown otherwise.
func (t *Tracing) FlushWithin(limit time.Duration) { t.flush = limit }
