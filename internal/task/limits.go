package task

// The limits of the task gate. Limits gives them as one table.
const (
	MaxTitle         = 500      // characters of a title
	MaxCriteria      = 100      // criteria of a task
	MaxCriterion     = 4000     // characters of one criterion
	MaxCriteriaBytes = 64 << 10 // bytes of all criteria of a task together
	MaxEvidence      = 64 << 10 // bytes of a claim's evidence
	MaxNotes         = 32 << 10 // bytes of a verdict's notes
	MaxKey           = 200      // characters of an idempotency key
	MaxAgentID       = 64       // characters of an agent id
	MaxRequest       = 1 << 20  // bytes of one request on the wire; kept by the transports
	MaxPage          = 100      // tasks on one page of a list
	DefaultPage      = 20       // tasks on a page when no limit is asked for
	MaxCount         = 1000     // tasks of one status that a list counts
	MaxLookedAt      = 500      // tasks that a page looks at to find those that it lists; see Page
)

// LimitName names a row of the table of limits.
type LimitName string

// The names of the limits whose excess is fault.TooLarge.
const (
	LimitTitle         LimitName = "title"
	LimitCriteria      LimitName = "number of criteria"
	LimitCriterion     LimitName = "criterion"
	LimitCriteriaBytes LimitName = "all criteria together"
	LimitEvidence      LimitName = "evidence"
	LimitNotes         LimitName = "notes"
	LimitKey           LimitName = "idempotency key"
	LimitRequest       LimitName = "request"
)

// Limit is one row of the table of limits: at most Max of Unit.
type Limit struct {
	Name LimitName
	Max  int
	Unit string
}

// Limits returns every limit whose excess is fault.TooLarge, in the order in
// which they are documented. A character is a Unicode code point; bytes are
// those of the text in UTF-8.
func Limits() []Limit {
	return []Limit{
		{LimitTitle, MaxTitle, "characters"},
		{LimitCriteria, MaxCriteria, "criteria"},
		{LimitCriterion, MaxCriterion, "characters"},
		{LimitCriteriaBytes, MaxCriteriaBytes, "bytes"},
		{LimitEvidence, MaxEvidence, "bytes"},
		{LimitNotes, MaxNotes, "bytes"},
		{LimitKey, MaxKey, "characters"},
		{LimitRequest, MaxRequest, "bytes"},
	}
}

func limitOf(name LimitName) Limit {
	for _, limit := range Limits() {
		if limit.Name == name {
			return limit
		}
	}
	return Limit{Name: name}
}
