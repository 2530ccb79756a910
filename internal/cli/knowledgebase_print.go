package cli

import (
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// knowledgeBaseTable is the table of the gates with a line for the retrieval.
func knowledgeBaseTable(result *registry.KnowledgeBaseResult, by typed, paint painter) string {
	var out strings.Builder
	gates, retrieve := &result.Gates, &result.Retrieve
	gateTable(&out, "gate", append(gateLines(gates), lineOf("retrieve", retrieve.GateResult, reason(retrieve.GateResult))), paint)
	all := hints(gates, nil, by)
	if entry, failed := retrieve.Cause.Entry(); failed && !hasCause(gates, retrieve.Cause) {
		all = append(all, hint{text: "retrieve: " + entry.Sentence + " " + targeted(entry.Hint, gates, by)})
	}
	hintLines(&out, all, paint)
	out.WriteString("\n")
	if retrieve.Version != "" {
		row(&out, paint, "content", contentLine(&retrieve.Retrieved))
	}
	for _, warning := range retrieve.Warnings {
		row(&out, paint, "warning", oneLine(warning))
	}
	about(&out, gates, paint)
	return out.String()
}

func contentLine(found *registry.Retrieved) string {
	line := "version " + oneLine(found.Version)
	switch found.Pinned {
	case "":
		return line
	case found.Version:
		return line + ", as pinned"
	}
	return line + "; pinned is " + oneLine(found.Pinned)
}
