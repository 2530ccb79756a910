package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// answers are the objects that are answered, by the name of each schema. What is
// embedded in another is told with it.
func answers() map[string]reflect.Type {
	return map[string]reflect.Type{
		"TaskCreated":      reflect.TypeFor[task.Created](),
		"TaskClaimed":      reflect.TypeFor[task.ClaimRecorded](),
		"TaskDecided":      reflect.TypeFor[task.Decided](),
		"Task":             reflect.TypeFor[task.Task](),
		"TaskChange":       reflect.TypeFor[task.Change](),
		"TaskSummary":      reflect.TypeFor[task.Summary](),
		"TaskCounts":       reflect.TypeFor[task.Counts](),
		"TaskPage":         reflect.TypeFor[task.Page](),
		"AgentTally":       reflect.TypeFor[task.AgentTally](),
		"AgentPair":        reflect.TypeFor[task.PairTally](),
		"AgentPage":        reflect.TypeFor[task.AgentPage](),
		"Agent":            reflect.TypeFor[task.AgentView](),
		"ComponentReading": reflect.TypeFor[registry.Reading](),
		"ComponentPage":    reflect.TypeFor[registry.ComponentPage](),
		"Component":        reflect.TypeFor[registry.ComponentView](),
		"StatusChange":     reflect.TypeFor[registry.Change](),
		"Hour":             reflect.TypeFor[registry.Hour](),
		"Drift":            reflect.TypeFor[registry.Drift](),
		"NewTool":          reflect.TypeFor[registry.NewTool](),
		"ToolChange":       reflect.TypeFor[registry.ToolChange](),
		"TextChange":       reflect.TypeFor[registry.TextChange](),
		"Examination":      reflect.TypeFor[registry.Examination](),
		"Result":           reflect.TypeFor[registry.KeptResult](),
		"ResultPage":       reflect.TypeFor[registry.ResultPage](),
		"Slot":             reflect.TypeFor[registry.SlotView](),
		"SlotPage":         reflect.TypeFor[registry.SlotPage](),
		"Run":              reflect.TypeFor[registry.RunView](),
		"RunSlot":          reflect.TypeFor[registry.RunSlotView](),
		"RunSummary":       reflect.TypeFor[registry.RunSummary](),
		"RunPage":          reflect.TypeFor[registry.RunPage](),
		"PreflightPage":    reflect.TypeFor[registry.PreflightPage](),
		"LastPreflight":    reflect.TypeFor[registry.PreflightSummary](),
		"KeptPreflight":    reflect.TypeFor[registry.KeptPreflight](),
		"Preflight":        reflect.TypeFor[registry.Preflight](),
		"SlotResult":       reflect.TypeFor[registry.SlotResult](),
		"Attempt":          reflect.TypeFor[registry.Attempt](),
		"Ticket":           reflect.TypeFor[registry.Ticket](),
		"TicketSlot":       reflect.TypeFor[registry.TicketSlot](),
	}
}

// choices are the texts that are one of some, by the name of each schema.
func choices() map[string]choice {
	return map[string]choice{
		"TaskStatus":      choiceOf(task.Statuses()...),
		"AgentMark":       choiceOf(task.Marks()...),
		"TransitionKind":  choiceOf(kindsOfTransition()...),
		"ComponentStatus": choiceOf(registry.Statuses()...),
		"ComponentKind":   choiceOf(registry.Kinds()...),
		"Cause":           choiceOf(causes()...),
		"Outcome":         choiceOf(registry.OutcomePassed, registry.OutcomeFailed, registry.OutcomeUndecided),
		"Drifting":        choiceOf(registry.DriftWarns, registry.DriftBlocks),
	}
}

// choice is a type whose values are listed.
type choice struct {
	kind   reflect.Type
	schema *jsonschema.Schema
}

func choiceOf[V ~string](values ...V) choice {
	schema := &jsonschema.Schema{Type: "string"}
	oneOf(values...)(schema)
	return choice{reflect.TypeFor[V](), schema}
}

func kindsOfTransition() []task.Kind {
	var kinds []task.Kind
	for _, rule := range task.Transitions() {
		kinds = append(kinds, rule.Kind)
	}
	return kinds
}

func causes() []registry.Cause {
	var causes []registry.Cause
	for _, entry := range registry.Causes() {
		causes = append(causes, entry.Cause)
	}
	return causes
}

// Answers are the schemas of what is answered.
type Answers struct {
	prefix string
	names  map[reflect.Type]string
	All    map[string]*jsonschema.Schema // by name
}

// NewAnswers returns the schemas of what is answered, and of further objects by
// their names. An object may gain members in later versions, so none is closed to
// members that it does not name. They refer to each other by their names behind a prefix, such as
// "#/$defs/". It fails for a type that is no object as JSON, and for a description
// of a member that is not there.
func NewAnswers(prefix string, further map[string]reflect.Type) (*Answers, error) {
	answered := answers()
	maps.Copy(answered, further)
	made := &Answers{prefix: prefix, names: map[reflect.Type]string{}, All: map[string]*jsonschema.Schema{}}
	for name, kind := range answered {
		made.names[kind] = name
	}
	for name, one := range choices() {
		made.names[one.kind], made.All[name] = name, one.schema
	}
	for name, kind := range answered {
		schema, err := made.of(kind)
		if err != nil {
			return nil, fmt.Errorf("the schema %s: %w", name, err)
		}
		made.All[name] = schema
	}
	return made, made.describe()
}

// RefTo refers to the schema of a type; nil when it has none.
func (a *Answers) RefTo(kind reflect.Type) *jsonschema.Schema {
	name, known := a.names[kind]
	if !known {
		return nil
	}
	return &jsonschema.Schema{Ref: a.prefix + name}
}

// of returns the schema of one object, which refers to the others.
func (a *Answers) of(kind reflect.Type) (*jsonschema.Schema, error) {
	if kind.Kind() != reflect.Struct {
		return nil, fmt.Errorf("a %s is no object", kind)
	}
	known := scalars()
	for each := range a.names {
		if each != kind {
			known[each] = a.RefTo(each)
		}
	}
	for field := range kind.Fields() {
		if field.Anonymous {
			delete(known, field.Type)
		}
	}
	schema, err := jsonschema.ForType(kind, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, err
	}
	return exact(schema), nil
}

// scalars are the schemas of what is no object and has no name.
func scalars() map[reflect.Type]*jsonschema.Schema {
	moment := &jsonschema.Schema{Type: "string", Format: "date-time"}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       moment,
		reflect.TypeFor[task.Time]():       moment,
		reflect.TypeFor[task.ID]():         {Type: "string", Format: "uuid"},
		reflect.TypeFor[task.AgentID]():    {Type: "string", MaxLength: new(task.MaxAgentID)},
		reflect.TypeFor[json.RawMessage](): {Type: "object"},
	}
}

// exact puts right what may stand where: further members in an object; null not in
// the place of a list, and not where the member is left out instead.
func exact(schema *jsonschema.Schema) *jsonschema.Schema {
	if schema.Properties != nil {
		schema.AdditionalProperties = nil
	}
	for name, member := range schema.Properties {
		isNullable := slices.Contains(schema.Required, name) && !slices.Contains(member.Types, "array")
		schema.Properties[name] = nullable(exact(member), isNullable)
	}
	if schema.Items != nil {
		schema.Items = nullable(exact(schema.Items), false)
	}
	return schema
}

// nullable returns a schema that permits null only where it may stand and did.
func nullable(schema *jsonschema.Schema, may bool) *jsonschema.Schema {
	if !slices.Contains(schema.Types, "null") {
		return schema
	}
	kinds := slices.DeleteFunc(slices.Clone(schema.Types), func(kind string) bool { return kind == "null" })
	switch {
	case !may && len(kinds) == 1:
		schema.Type, schema.Types = kinds[0], nil
	case !may:
		schema.Types = nil
	case schema.Ref != "":
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Ref: schema.Ref}, {Type: "null"}}}
	}
	return schema
}

// describe puts descriptions and formats where they belong, also where an object is
// embedded in another.
func (a *Answers) describe() error {
	for place, text := range descriptions() {
		if err := a.adjust(place, func(schema *jsonschema.Schema) { schema.Description = text }); err != nil {
			return err
		}
	}
	for place, format := range formats() {
		if err := a.adjust(place, func(schema *jsonschema.Schema) { schema.Format = format }); err != nil {
			return err
		}
	}
	return nil
}

// adjust changes the schema of an object, or of a member of it such as Task.notes
// in the object and in those that embed it.
func (a *Answers) adjust(place string, change func(*jsonschema.Schema)) error {
	name, member, isMember := strings.Cut(place, ".")
	if !isMember && a.All[name] != nil {
		change(a.All[name])
		return nil
	}
	found := false
	for _, bearer := range a.bearers(name) {
		if schema := a.All[bearer].Properties[member]; schema != nil {
			change(schema)
			found = true
		}
	}
	if !found {
		return fmt.Errorf("%s is described, and is nowhere", place)
	}
	return nil
}

// bearers are the names of an object and of those that embed it.
func (a *Answers) bearers(name string) []string {
	var all []string
	for kind, each := range a.names {
		isBearer := each == name
		if kind.Kind() == reflect.Struct {
			for field := range kind.Fields() {
				isBearer = isBearer || field.Anonymous && a.names[field.Type] == name
			}
		}
		if isBearer {
			all = append(all, each)
		}
	}
	return all
}
