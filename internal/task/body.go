package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/gowebpki/jcs"
)

// bodyVersion is the version of the canonical body that this package writes.
const bodyVersion = 1

// body is the canonical body of a transition, version 1. It is encoded by RFC
// 8785: members sorted, no white space, one form for every value. Texts that
// may be long stand as the SHA-256 of their UTF-8 bytes in lower-case hex.
//
//	version           1
//	task_id           the task's id, lower case
//	number            of the transition in its task, from 1
//	kind              created, claimed, verified or rejected
//	agent             the agent in its normal form
//	principal         {kind, id}
//	at                RFC 3339 UTC with milliseconds
//	title             created only: the title itself
//	criteria_sha256   created only: one hash for each criterion, in order
//	supersedes        created only, and only when it supersedes: that task's id
//	evidence_sha256   claimed only
//	verdict           verified and rejected only: verified or rejected
//	notes_sha256      verified and rejected only, and only when there are notes
//
// A member that does not apply is absent, never null.
type body struct {
	Version        int       `json:"version"`
	TaskID         ID        `json:"task_id"`
	Number         int       `json:"number"`
	Kind           Kind      `json:"kind"`
	Agent          AgentID   `json:"agent"`
	Principal      Principal `json:"principal"`
	At             Time      `json:"at"`
	Title          string    `json:"title,omitempty"`
	CriteriaSHA256 []string  `json:"criteria_sha256,omitempty"`
	Supersedes     ID        `json:"supersedes,omitempty"`
	EvidenceSHA256 string    `json:"evidence_sha256,omitempty"`
	Verdict        Status    `json:"verdict,omitempty"`
	NotesSHA256    string    `json:"notes_sha256,omitempty"`
}

// Sealed returns the record of a claim or a verdict with its canonical body and
// that body's digest.
func (r Record) Sealed() (Record, error) {
	content := r.head()
	switch r.Kind {
	case KindClaimed:
		content.EvidenceSHA256 = hashText(r.Text)
	case KindVerified, KindRejected:
		content.Verdict = Status(r.Kind)
		if r.Text != "" {
			content.NotesSHA256 = hashText(r.Text)
		}
	case KindCreated:
		return Record{}, fmt.Errorf("seal task %s: its creation is sealed with its criteria", r.TaskID)
	default:
		return Record{}, fmt.Errorf("seal task %s: no transition is called %q", r.TaskID, r.Kind)
	}
	return r.sealedWith(content)
}

// Sealed returns the new task with its canonical body and that body's digest.
func (n NewTask) Sealed() (NewTask, error) {
	content := n.head()
	content.Title = n.Title
	content.Supersedes = n.Supersedes
	content.CriteriaSHA256 = hashTexts(n.Criteria)
	record, err := n.sealedWith(content)
	n.Record = record
	return n, err
}

func (r Record) head() body {
	rule, _ := RuleOf(r.Kind)
	return body{
		Version:   bodyVersion,
		TaskID:    r.TaskID,
		Number:    rule.Number,
		Kind:      r.Kind,
		Agent:     r.Agent,
		Principal: r.Principal,
		At:        r.At,
	}
}

func (r Record) sealedWith(content body) (Record, error) {
	canonical, err := canonicalJSON(content)
	if err != nil {
		return Record{}, fmt.Errorf("seal transition %d of task %s: %w", content.Number, r.TaskID, err)
	}
	r.Body = string(canonical)
	r.Digest = hashText(r.Body)
	return r, nil
}

// readBody checks that a stored transition says one thing only, and returns its
// decoded body: its number and statuses are those of its kind, its digest is
// that of its body, and its body is canonical and agrees with every other column.
func readBody(t Transition) (body, error) {
	content, err := decodeBody(t)
	if err != nil {
		return body{}, fmt.Errorf("transition %d of task %s: %w", t.Number, t.TaskID, err)
	}
	return content, nil
}

func decodeBody(t Transition) (body, error) {
	if hashText(t.Body) != t.Digest {
		return body{}, fmt.Errorf("the digest %s is not that of the body", t.Digest)
	}
	var content body
	decoder := json.NewDecoder(bytes.NewReader([]byte(t.Body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&content); err != nil {
		return body{}, fmt.Errorf("read the body: %w", err)
	}
	canonical, err := canonicalJSON(content)
	if err != nil {
		return body{}, fmt.Errorf("encode the body again: %w", err)
	}
	if string(canonical) != t.Body {
		return body{}, fmt.Errorf("the body is not in canonical form")
	}
	if content.Version != bodyVersion {
		return body{}, fmt.Errorf("the body has version %d; this program knows %d", content.Version, bodyVersion)
	}
	rule, ok := RuleOf(content.Kind)
	said := Transition{
		TaskID: content.TaskID, Number: content.Number, Kind: content.Kind, From: rule.From, To: rule.To,
		Agent: content.Agent, Principal: content.Principal, At: content.At, Body: t.Body, Digest: t.Digest,
	}
	if !ok || said != t || content.Number != rule.Number {
		return body{}, fmt.Errorf("the body says %+v and the row says otherwise", content)
	}
	return content, content.checkMembers()
}

// checkMembers checks that a body has the members of its kind and no others.
func (b body) checkMembers() error {
	created := b.Title != "" && len(b.CriteriaSHA256) > 0
	creation := b.Title != "" || len(b.CriteriaSHA256) > 0 || b.Supersedes != ""
	claim := b.EvidenceSHA256 != ""
	verdict := b.Verdict != "" || b.NotesSHA256 != ""
	right := false
	switch b.Kind {
	case KindCreated:
		right = created && !claim && !verdict
	case KindClaimed:
		right = claim && !creation && !verdict
	case KindVerified, KindRejected:
		right = b.Verdict == Status(b.Kind) && !creation && !claim
	}
	if !right {
		return fmt.Errorf("the body has not the members of a transition of kind %s", b.Kind)
	}
	return nil
}

// canonicalJSON encodes a value by RFC 8785.
func canonicalJSON(value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return jcs.Transform(plain)
}

// hashText returns the SHA-256 of a text in lower-case hex.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func hashTexts(texts []string) []string {
	hashes := make([]string, len(texts))
	for i, text := range texts {
		hashes[i] = hashText(text)
	}
	return hashes
}
