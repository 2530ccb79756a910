package web

import "time"

// Receiver is somebody who is told of alerts, and how it takes what it is told.
type Receiver struct {
	Name         string
	Kind         string    // in words, with an article
	FailingSince time.Time // zero while it takes what it is told
	Failures     int       // in a row
	Reason       string    // of the last failure; untrusted text, without secrets
	Hint         string    // what to do about it
}

// told is who is told of alerts, as the overview shows it. It is empty when nobody
// is.
type told struct {
	Well    []string // the names of those that take what they are told
	Failing []failingReceiver
}

// failingReceiver is one that does not take what it is told.
type failingReceiver struct {
	Receiver

	Since moment
}

// Times is how often in a row it has failed, in words.
func (r failingReceiver) Times() string {
	if r.Failures <= 1 {
		return "once so far"
	}
	return counted(r.Failures, "time") + " in a row"
}

// receivers are those of the configuration that is in force.
func (s *site) receivers() []Receiver {
	if s.Receivers == nil {
		return nil
	}
	return s.Receivers()
}

// told sorts the receivers by whether they take what they are told.
func (s *site) told() told {
	var found told
	for _, each := range s.receivers() {
		if each.FailingSince.IsZero() {
			found.Well = append(found.Well, brief(each.Name))
			continue
		}
		found.Failing = append(found.Failing, failingReceiver{each, s.at(each.FailingSince)})
	}
	return found
}

// receiverExample is what is written in the configuration for somebody to be told.
const receiverExample = `alerts:
  webhooks:
    - name: ops
      url: https://hooks.example/countersign
      secret: env:HOOK_SECRET
  alertmanagers:
    - url: http://127.0.0.1:9093`
