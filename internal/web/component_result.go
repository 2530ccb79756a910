package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

// What of a result is shown.
const (
	maxToolsShown    = 200
	maxFindingsShown = 25
)

// resultView is one result on the page of its component. All texts of it are
// untrusted.
type resultView struct {
	ID         string
	At         moment
	Outcome    registry.Outcome
	GivenUp    bool // the document was not kept
	Unreadable bool // the document is not what a result of this kind is

	Parts        []partView
	Facts        []fact
	Dependencies []dependency
	Tools        []string
	MoreTools    int // that are not shown
	Findings     []registry.Finding
	MoreFindings int
	Allowed      []registry.Finding
	Warnings     []string
	ToolsDigest  string
}

// partView is a gate, or what a component of another kind has instead.
type partView struct {
	Name       string
	OK         bool
	Took       string // empty when it took no time of its own
	Cause      registry.Cause
	Sentence   string // of the cause
	Hint       string // what to do
	Detail     string
	Lines      []string // to be copied into the configuration
	NotJudged  bool     // it failed in the words of a part before it
	Transcript *transcriptView
}

// Word says whether the part held.
func (p partView) Word() string {
	switch {
	case p.OK:
		return "passed"
	case p.NotJudged:
		return "not judged"
	case p.Cause.IsOurs():
		return string(registry.OutcomeUndecided)
	}
	return "failed"
}

// fact is a name and what it is: a text, or a moment.
type fact struct {
	Name, Value string
	IsCode      bool
	When        moment
}

// dependency is what g2 says of something that the server needs.
type dependency struct {
	Name, Detail string
	Word         string // executable, not executable, or not said
	Lamp         string
}

// fill lays a result out. What is not of a known kind is shown by what all have in
// common.
func (v *resultView) fill(s *site, component string, result registry.Result) {
	summary := result.Summary()
	v.At, v.Outcome = s.at(summary.ProbedAt), summary.Outcome
	switch of := result.(type) {
	case *registry.ProbeResult:
		v.ofServer(of)
	case *registry.KnowledgeBaseResult:
		v.ofKnowledge(of)
	case *registry.ModelResult:
		v.ofModel(of)
	case *registry.HarnessResult:
		v.ofHarness(s, of)
	default:
		for _, part := range summary.Parts {
			v.Parts = append(v.Parts, partView{Name: part.Part, OK: part.OK, Took: words.Took(part.Took)})
		}
		v.fact("Why", summary.Reason)
	}
	v.heldBackHint()
	v.hint(s, component)
}

// fact adds a fact that is not empty.
func (v *resultView) fact(name, value string) {
	if value != "" {
		v.Facts = append(v.Facts, fact{Name: name, Value: value})
	}
}

// code adds a fact that is an identifier.
func (v *resultView) code(name, value string) {
	if value != "" {
		v.Facts = append(v.Facts, fact{Name: name, Value: value, IsCode: true})
	}
}

// part adds a part of the proof.
func (v *resultView) part(name string, got registry.GateResult) {
	made := partView{Name: name, OK: got.OK, Cause: got.Cause, Detail: got.Detail, Transcript: v.transcriptOf(got.Transcript)}
	if got.LatencyMs > 0 {
		made.Took = words.Took(time.Duration(got.LatencyMs * float64(time.Millisecond)))
	}
	if got.OK {
		made.Cause = ""
	}
	v.Parts = append(v.Parts, made)
}

// probeTarget is how the hint of a cause names the command that probes a component.
const probeTarget = "countersign probe TARGET"

// hint says what to do about each cause: once in full, and then where that stands.
func (v *resultView) hint(s *site, component string) {
	told := map[registry.Cause]string{}
	for i := range v.Parts {
		part := &v.Parts[i]
		entry, known := part.Cause.Entry()
		if !known || part.NotJudged {
			continue
		}
		part.Sentence = cmp.Or(part.Sentence, entry.Sentence)
		switch first := told[part.Cause]; {
		case part.Hint != "":
		case first != "":
			part.Hint = "The same as for " + first + "."
		default:
			part.Hint = strings.ReplaceAll(entry.Hint, probeTarget, s.typed("countersign probe "+component))
		}
		told[part.Cause] = cmp.Or(told[part.Cause], part.Name)
	}
}

func (v *resultView) ofServer(of *registry.ProbeResult) {
	for _, gate := range registry.Gates() {
		v.part(string(gate), of.Gate(gate))
	}
	v.serverFacts(of)
	v.canaryHint(of)
	v.gatesHint(of)
}

// gatesHint says what to do about a server that does not know the pages of the gates.
func (v *resultView) gatesHint(of *registry.ProbeResult) {
	isUnknown := strings.HasPrefix(of.Healthz.Detail, "status 404") || strings.HasPrefix(of.Healthz.Detail, "status 4") && of.Era != ""
	if of.Profile == registry.Protocol || of.Healthz.Cause != registry.HTTPStatus || of.Test.Cause != registry.HTTPStatus || !isUnknown {
		return
	}
	v.Parts[0].Hint = "The server knows neither /healthz nor /test. Give it both (in Go, the package gates mounts them), or correct the url. " +
		"If the url is that of its MCP endpoint, say so in the configuration:"
	v.Parts[0].Lines = []string{"profile: protocol"}
}

// serverFacts are what a probe has seen beside its gates.
func (v *resultView) serverFacts(of *registry.ProbeResult) {
	if of.Era != "" {
		v.fact("Server", strings.TrimSpace(of.Server.Name+" "+of.Server.Version))
		v.fact("Protocol", fmt.Sprintf("MCP %s, %s era, over %s", of.ProtocolVersion, of.Era, of.Transport))
	}
	v.fact("Profile", string(of.Profile))
	v.fact("Took", phasesInWords([]phase{
		{"resolve", of.Timings.ResolveMs},
		{"connect", of.Timings.ConnectMs},
		{"TLS", of.Timings.TLSMs},
		{"first byte", of.Timings.FirstByteMs},
		{"handshake", of.Timings.HandshakeMs},
		{"list", of.Timings.ListMs},
		{"call", of.Timings.CallMs},
	}))
	if of.SessionsOpened > 0 {
		v.fact("Sessions", fmt.Sprintf("%d opened, %d closed", of.SessionsOpened, of.SessionsClosed))
	}
	v.ToolsDigest = of.ToolsDigest
	v.Tools = of.Tools[:min(len(of.Tools), maxToolsShown)]
	v.MoreTools = len(of.Tools) - len(v.Tools)
	v.Warnings = append(v.Warnings, of.Warnings...)
	for _, name := range slices.Sorted(maps.Keys(of.Dependencies)) {
		v.Dependencies = append(v.Dependencies, dependencyOf(name, of.Dependencies[name]))
	}
}

// heldBack ends the detail of a call that was not made for want of force.
const heldBack = "it is called only with force"

// canaryHint offers the call that could prove a server without gates.
func (v *resultView) canaryHint(of *registry.ProbeResult) {
	if of.Profile != registry.Protocol || of.Test.Cause != registry.NotConfigured || of.LikelyCanary == "" {
		return
	}
	for i := range v.Parts {
		if v.Parts[i].Name == string(registry.Test) {
			v.Parts[i].Lines = []string{`canary: {tool: "` + of.LikelyCanary + `", arguments: {}, expect: {not_empty: true}}`}
		}
	}
}

// heldBackHint says what lets a call through that is declared and was not made,
// because it could change something.
func (v *resultView) heldBackHint() {
	for i := range v.Parts {
		if part := &v.Parts[i]; part.Cause == registry.NotConfigured && strings.HasSuffix(part.Detail, heldBack) {
			part.Sentence = "The call that would prove it was held back."
			part.Hint = "This call could change something on the server. If it is harmless, write this beside its tool " +
				"in countersign.yaml; else choose another tool."
			part.Lines = []string{"force: true"}
		}
	}
}

// dependencyOf reads an entry of what g2 tells.
func dependencyOf(name string, raw json.RawMessage) dependency {
	var entry struct {
		Executable *bool  `json:"executable"`
		Detail     string `json:"detail"`
	}
	made := dependency{Name: name, Word: "not said", Lamp: "dark"}
	if json.Unmarshal(raw, &entry) != nil || entry.Executable == nil {
		return made
	}
	made.Detail = entry.Detail
	made.Word, made.Lamp = "executable", "good"
	if !*entry.Executable {
		made.Word, made.Lamp = "not executable", "bad"
	}
	return made
}

func (v *resultView) ofKnowledge(of *registry.KnowledgeBaseResult) {
	for _, gate := range registry.Gates() {
		v.part(string(gate), of.Gates.Gate(gate))
	}
	got := of.Retrieve.GateResult
	if wrong, detail := of.Retrieve.Verdict(); got.OK && wrong != "" {
		got.OK, got.Cause, got.Detail = false, wrong, detail
	}
	v.part("retrieve", got)
	v.fact("Chunks", fmt.Sprint(of.Retrieve.Chunks))
	v.code("Version", of.Retrieve.Version)
	v.code("Pinned", of.Retrieve.Pinned)
	v.code("Found", strings.Join(of.Retrieve.FoundIDs, ", "))
	v.code("Missing", strings.Join(of.Retrieve.MissingIDs, ", "))
	v.Warnings = append(v.Warnings, of.Retrieve.Warnings...)
	v.serverFacts(&of.Gates)
	v.canaryHint(&of.Gates)
}

func (v *resultView) ofModel(of *registry.ModelResult) {
	got := of.Invoke
	if wrong, detail := of.Verdict(); got.OK && wrong != "" {
		got.OK, got.Cause, got.Detail = false, wrong, detail
	}
	v.part("invoke", got)
	v.code("Model", of.Model)
	if of.StatedModel != of.Model {
		v.code("States", of.StatedModel)
	}
	v.fact("Provider", fmt.Sprintf("%s, %s", of.Provider, of.Mode))
	if sum := of.Sum; sum != nil && sum.Answer != nil {
		v.fact("Asked", fmt.Sprintf("%d + %d, answered with %d", sum.Left, sum.Right, *sum.Answer))
	}
	if of.Vector != nil {
		v.fact("Vector", counted(of.Vector.Length, "dimension"))
	}
	if of.Scores != nil {
		v.fact("Scores", fmt.Sprintf("%d of %d documents", of.Scores.Scored, of.Scores.Documents))
	}
	if of.Tokens != (registry.Tokens{}) {
		v.fact("Tokens", fmt.Sprintf("%d in, %d out", of.Tokens.Input, of.Tokens.Output))
	}
	v.fact("Finish", of.Finish)
	if of.Requests > 1 {
		v.fact("Requests", fmt.Sprint(of.Requests))
	}
	v.fact("Took", phasesInWords(phasesOf(of.Timings)))
	v.Warnings = append(v.Warnings, of.Warnings...)
}

func (v *resultView) ofHarness(s *site, of *registry.HarnessResult) {
	for _, name := range registry.HarnessParts() {
		got := of.Part(name)
		if got == nil {
			continue
		}
		v.part(string(name), *got)
		if made := &v.Parts[len(v.Parts)-1]; of.NotJudged(name) {
			made.NotJudged, made.Cause, made.Detail = true, "", ""
		}
	}
	v.code("Image", of.Image)
	v.code("Digest", of.Digest)
	if report := of.Report; report != nil {
		v.fact("Report", strings.TrimSpace(report.Format+" from "+report.Source))
		v.fact("Scanner", report.Scanner)
		if !report.ScannedAt.IsZero() {
			v.Facts = append(v.Facts, fact{Name: "Scanned", When: s.at(report.ScannedAt)})
		}
		if !report.DatabaseAt.IsZero() {
			v.Facts = append(v.Facts, fact{Name: "Database", When: s.at(report.DatabaseAt)})
		}
		v.fact("Packages", strings.TrimSuffix(fmt.Sprintf("%d, of %s", report.Packages, report.System), ", of "))
		v.fact("Findings", severitiesInWords(report.Severities))
	}
	v.Findings = of.Findings[:min(len(of.Findings), maxFindingsShown)]
	v.MoreFindings = max(of.Blocking, len(of.Findings)) - len(v.Findings)
	v.Allowed = of.Allowed[:min(len(of.Allowed), maxFindingsShown)]
	v.Warnings = append(v.Warnings, of.Warnings...)
}

// severitiesInWords counts the findings of a report, the worst first.
func severitiesInWords(counts map[registry.Severity]int) string {
	var said []string
	for _, severity := range slices.Backward(registry.Severities()) {
		if n := counts[severity]; n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, severity))
		}
	}
	return strings.Join(said, ", ")
}

// phase is a part of the time that an exchange took.
type phase struct {
	name string
	ms   float64
}

func phasesOf(of registry.Phases) []phase {
	return []phase{
		{"resolve", of.ResolveMs}, {"connect", of.ConnectMs}, {"TLS", of.TLSMs}, {"first byte", of.FirstByteMs}, {"whole", of.TotalMs},
	}
}

// phasesInWords has those phases that occurred.
func phasesInWords(phases []phase) string {
	var said []string
	for _, each := range phases {
		if each.ms > 0 {
			said = append(said, unbroken(each.name+" "+words.Took(time.Duration(each.ms*float64(time.Millisecond)))))
		}
	}
	return strings.Join(said, ", ")
}
