package telemetry

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/fault"
)

// malformed is the code of a message that never became a call.
const malformed = "malformed"

// called is what this process was asked.
type called struct {
	refusals *prometheus.CounterVec
	requests *prometheus.CounterVec
}

// transports are how calls arrive.
func transports() []string { return []string{"mcp", "http"} }

func newCalled() called {
	c := called{
		refusals: counters("refusals_total", "Calls that were refused, by transport and fault code.", "transport", "code"),
		requests: counters("http_requests_total", "HTTP requests that were answered, by group of routes and class of status.", "routes", "status"),
	}
	for _, transport := range transports() {
		c.refusals.WithLabelValues(transport, malformed)
		for _, code := range fault.Codes() {
			c.refusals.WithLabelValues(transport, string(code))
		}
	}
	for _, group := range routeGroups() {
		for _, class := range statusClasses() {
			c.requests.WithLabelValues(group, class)
		}
	}
	return c
}

func (m *called) all() []prometheus.Collector { return []prometheus.Collector{m.refusals, m.requests} }

// OverMCP returns who is told of the calls of MCP tools.
func (m *called) OverMCP() *Calls { return &Calls{of: m, transport: transports()[0]} }

// OverHTTP returns who is told of HTTP requests.
func (m *called) OverHTTP() *Calls { return &Calls{of: m, transport: transports()[1]} }

// Calls is told of the calls over one transport. It is safe for concurrent use.
type Calls struct {
	of        *called
	transport string
}

// Refused tells that a call was refused with a code; an empty one stands for a
// message that never became a call.
func (c *Calls) Refused(code fault.Code) {
	label := malformed
	if code != "" {
		label = within(code, fault.Codes())
	}
	c.of.refusals.WithLabelValues(c.transport, label).Inc()
}

// Answered tells that a request to a group of routes was answered with a status.
func (c *Calls) Answered(routes string, status int) {
	c.of.requests.WithLabelValues(within(routes, routeGroups()), within(strconv.Itoa(status/100)+"xx", statusClasses())).Inc()
}

// routeGroups are the groups of routes that are told apart.
func routeGroups() []string {
	return []string{"mcp", "registry", "api", "events", "pages", "gates", "metrics", other}
}

func statusClasses() []string { return []string{"2xx", "3xx", "4xx", "5xx", other} }
