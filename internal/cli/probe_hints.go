package cli

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// hint is running text, and lines that are ready to be copied.
type hint struct {
	text  string
	lines []string
}

// typed is how a person names what was probed: a command stands behind --, and flags
// would stand in front of that. Of the flags see examining.
type typed struct {
	flags     string
	isCommand bool
}

// place says where flags are added, when not at the end.
func (t typed) place() string {
	if t.isCommand {
		return " in front of --"
	}
	return ""
}

// hints says of the failed gates what happened and what to do next, and names
// gates that failed for the same cause together.
func hints(result *registry.ProbeResult, only []registry.Gate, by typed) []hint {
	var found []hint
	gates := registry.Gates()
	if hasNoGates(result) {
		gates = []registry.Gate{registry.ListTools}
		found = append(found, hint{text: noGatesHint(result)})
	}
	for _, entry := range registry.Causes() {
		var failed []registry.Gate
		for _, gate := range gates {
			if result.Gate(gate).Cause == entry.Cause {
				failed = append(failed, gate)
			}
		}
		if len(failed) > 0 {
			each := hint{text: gateNames(failed) + ": " + causeHint(result, entry, by)}
			if entry.Cause == registry.NotConfigured {
				each.lines = canaryLines(result)
			}
			found = append(found, each)
		}
	}
	if len(only) == 0 && isCanaryMissing(result) && !strings.HasSuffix(result.Test.Detail, heldBack) {
		found = append(found, hint{text: "test: To ask for the other gates alone, add " + onlyOthers + by.place() + "."})
	}
	return found
}

// causeHint is that of the table of causes, but for a canary that is missing or
// held back, of which more can be said.
func causeHint(result *registry.ProbeResult, entry registry.CauseEntry, by typed) string {
	missing, held := isCanaryMissing(result), strings.HasSuffix(result.Test.Detail, heldBack)
	switch {
	case entry.Cause == registry.NotConfigured && held:
		return "This call could change something on the server. If it is harmless, say so with --force" + by.place() + ", or with force: true in the " +
			"configuration; else choose another tool."
	case entry.Cause != registry.NotConfigured || !missing:
		return entry.Sentence + " " + targeted(entry.Hint, result, by)
	case result.LikelyCanary == "":
		return "Nothing shows that the server works, because no call of a tool is declared. Choose a harmless one with --call TOOL " +
			"--arguments JSON" + by.place() + "; it needs --force when the server does not mark it read-only."
	}
	return "Nothing shows that the server works, because no call of a tool is declared. " + result.LikelyCanary +
		" is marked read-only and needs no arguments. Add this to the command line" + by.place() + ", or the other to the component in countersign.yaml:"
}

// targeted puts a target that is one word in its place in a hint, and the flags behind it.
func targeted(hint string, result *registry.ProbeResult, by typed) string {
	if by.isCommand {
		return strings.ReplaceAll(hint, "TARGET --explain", "--explain -- COMMAND")
	}
	if name := visible(result.Target); registry.IsName(name) || strings.Contains(name, "://") && !strings.ContainsRune(name, ' ') {
		return strings.ReplaceAll(hint, "TARGET", name+visible(by.flags))
	}
	return hint
}

// heldBack ends the detail of a canary that was not called for want of force.
const heldBack = "it is called only with force"

// isCanaryMissing reports whether g2 failed for want of a canary.
func isCanaryMissing(result *registry.ProbeResult) bool {
	return result.Profile == registry.Protocol && result.Test.Cause == registry.NotConfigured && result.Era != ""
}

// canaryLines declare the likely canary.
func canaryLines(result *registry.ProbeResult) []string {
	if !isCanaryMissing(result) || result.LikelyCanary == "" {
		return nil
	}
	return []string{
		"  --call " + result.LikelyCanary + " --arguments '{}' --expect not_empty",
		`  canary: {tool: "` + result.LikelyCanary + `", arguments: {}, expect: {not_empty: true}}`,
	}
}

// hasNoGates reports whether the server knows neither of the two pages: it says
// that they are missing or, when it speaks MCP, refuses them in another way, as
// an endpoint does that answers at every path. The detail of g2 may be the text
// of the page, so only g1 shows the number.
func hasNoGates(result *registry.ProbeResult) bool {
	if result.Profile == registry.Protocol || result.Healthz.Cause != registry.HTTPStatus || result.Test.Cause != registry.HTTPStatus {
		return false
	}
	detail := result.Healthz.Detail
	return strings.HasPrefix(detail, "status 404") || strings.HasPrefix(detail, "status 4") && result.Era != ""
}

func noGatesHint(result *registry.ProbeResult) string {
	if registry.IsName(result.Target) { // a component
		return "healthz, test: This server has no three gates; it does not know these two pages. Check the url of the component, give the " +
			"server the pages (in Go, the package gates mounts both), or, if the url is that of its MCP endpoint, add to the component " +
			"in the configuration file: profile: protocol"
	}
	if strings.HasSuffix(result.Target, "/mcp") {
		return "This looks like the address of the MCP endpoint. Give the address without /mcp at its end; or, if the server " +
			"has no pages /healthz and /test, add --profile protocol."
	}
	alone := "countersign probe " + visible(result.Target) + "/mcp --profile protocol"
	if !result.ListTools.OK {
		alone = "countersign probe " + visible(result.Target) + " --profile protocol, or with the path at which it speaks MCP"
	}
	return "healthz, test: This server has no three gates; it does not know these two pages. Check the address, " +
		"give the server the pages (in Go, the package gates mounts both), or probe its MCP endpoint alone: " + alone
}

// probesTable shows many results to a person, a line each.
func probesTable(file string, results []registry.ProbeResult, only []registry.Gate, paint painter) string {
	var out strings.Builder
	passed := 0
	width := len("server")
	for i := range results {
		if outcomeAt(&results[i], only) == registry.OutcomePassed {
			passed++
		}
		width = max(width, len(shownName(&results[i])))
	}
	verdict := verdictOn(outcomeOfAll(results, only), paint)
	if passed == len(results) {
		verdict = paint.green("all passed")
	}
	asked := ""
	if len(only) > 0 {
		asked = " at " + gateNames(only)
	}
	fmt.Fprintf(&out, "%s  %d of %d servers pass%s: %s\n\n", paint.bold(visible(file)), passed, len(results), asked, verdict)
	fmt.Fprintf(&out, "  %s\n", paint.dim(fmt.Sprintf("%-*s  %-*s%-*s%-*s%s", width, "server", unsureWidth, "healthz", unsureWidth, "test", unsureWidth, "listTools", "found")))
	for i := range results {
		result := &results[i]
		fmt.Fprintf(&out, "  %-*s  %s%s%s%s\n", width, shownName(result), lamp(outcomeOf(result.Healthz), unsureWidth, paint),
			testLamp(result, paint), lamp(outcomeOf(result.ListTools.GateResult), unsureWidth, paint), found(result))
	}
	if lines := manyHints(results, only); len(lines) > 0 {
		out.WriteString("\n")
		for _, line := range lines {
			row(&out, paint, "hint", line)
		}
	}
	return out.String()
}

// notAsked is what a table of many shows for a gate test that fails for want of a
// canary, since FAIL would read as if the server were broken.
const notAsked = "not asked"

func testLamp(result *registry.ProbeResult, paint painter) string {
	if isCanaryMissing(result) {
		return paint.red(notAsked) + "  "
	}
	return lamp(outcomeOf(result.Test), unsureWidth, paint)
}

// shownName is the name of a server in a table of many.
func shownName(result *registry.ProbeResult) string {
	return registry.Shorten(oneLine(result.Target), nameWidth)
}

// nameWidth bounds the column of names, in bytes.
const nameWidth = 32

// found is the first failure that says most about the server, else why nothing is known
// of it, else what it is.
func found(result *registry.ProbeResult) string {
	for _, outcome := range []registry.Outcome{registry.OutcomeFailed, registry.OutcomeUndecided} {
		for _, gate := range []registry.Gate{registry.Healthz, registry.ListTools, registry.Test} {
			got := result.Gate(gate)
			if outcomeOf(got) != outcome {
				continue
			}
			words := string(gate) + ": " + reason(got)
			if gate == registry.Test && isCanaryMissing(result) && result.LikelyCanary != "" {
				words = fmt.Sprintf("test: %s: %s could be its canary", got.Cause, result.LikelyCanary)
			}
			return registry.Shorten(words, textWidth)
		}
	}
	return registry.Shorten(fmt.Sprintf("%s; %s", oneLine(result.ListTools.Detail), serverLine(result)), textWidth)
}

// onlyOthers asks for the gates that need no canary.
const onlyOthers = "--only healthz,listTools"

// manyHints says for each cause that was found what to do next, once.
func manyHints(results []registry.ProbeResult, only []registry.Gate) []string {
	var lines []string
	for i := range results {
		if len(only) == 0 && isCanaryMissing(&results[i]) {
			lines = append(lines, notAsked+": No harmless call is declared, or it is held back, so nothing shows that the server works, and the "+
				"gate test has not passed. Make it a component of countersign.yaml with a canary; or ask for the other gates alone: "+onlyOthers)
			break
		}
	}
	for _, entry := range registry.Causes() {
		for i := range results {
			isTold := entry.Cause == registry.NotConfigured && isCanaryMissing(&results[i])
			if hasCause(&results[i], entry.Cause) && !isTold {
				lines = append(lines, string(entry.Cause)+": "+entry.Sentence+" "+entry.Hint)
				break
			}
		}
	}
	return lines
}

func hasCause(result *registry.ProbeResult, cause registry.Cause) bool {
	for _, gate := range registry.Gates() {
		if result.Gate(gate).Cause == cause {
			return true
		}
	}
	return false
}
