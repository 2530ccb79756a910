package store

import "github.com/countersign-dev/countersign/internal/fault"

// ofFeed are the rules of the feed and of what is counted of it. Callers cannot
// break any of them through this package.
func ofFeed() []Constraint {
	var rules []Constraint
	add := func(only string, names ...string) {
		for _, name := range names {
			rules = append(rules, Constraint{name, fault.Internal, only})
		}
	}
	add("",
		"transitions_feed", "changes_feed", "preflights_feed",
		"feed_key", "feed_position", "feed_kind", "feed_at", "feed_follows", "feed_no_update", "feed_keep_newest",
		"totals_key", "totals_single", "totals_position", "totals_counts",
		"totals_forward_only", "totals_follow_feed", "totals_keep_newest", "totals_no_delete",
		"latencies_key", "latencies_counts", "latencies_forward_only", "latencies_no_delete",
		"agents_key", "agents_counts", "agents_forward_only", "agents_no_delete",
		"pairs_key", "pairs_counts", "pairs_forward_only", "pairs_no_delete")
	add(dialectSQLite, "feed_no_replace", "feed_in_order", "totals_no_replace", "latencies_no_replace", "agents_no_replace", "pairs_no_replace")
	add(dialectPostgres, "feed_no_truncate", "totals_no_truncate", "latencies_no_truncate", "agents_no_truncate", "pairs_no_truncate")
	return rules
}
