package store

import "github.com/countersign-dev/countersign/internal/fault"

// ofAlerts are the rules of the alerts. Callers cannot break any of them through
// this package.
func ofAlerts() []Constraint {
	var rules []Constraint
	for _, name := range []string{
		"alerts_key", "alerts_name", "alerts_state", "alerts_numbers", "alerts_said",
		"alert_deliveries_key", "alert_deliveries_states", "alert_deliveries_numbers",
		"alert_position_key", "alert_position_single",
	} {
		rules = append(rules, Constraint{name, fault.Internal, ""})
	}
	return rules
}
