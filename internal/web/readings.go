package web

import (
	"slices"

	"github.com/countersign-dev/countersign/internal/registry"
)

// sentencesOf are causes in words, each once.
func sentencesOf(causes []registry.Cause) []string {
	var sentences []string
	for _, cause := range causes {
		sentence := string(cause)
		if entry, known := cause.Entry(); known {
			sentence = entry.Sentence
		}
		if !slices.Contains(sentences, sentence) {
			sentences = append(sentences, sentence)
		}
	}
	return sentences
}

// marksOf are the words beside a status that ask for attention.
func marksOf(reading registry.Reading) []string {
	var marks []string
	if reading.Drifting != "" {
		marks = append(marks, "tools changed")
	}
	if reading.Flapping {
		marks = append(marks, "flapping")
	}
	if reading.Degraded {
		marks = append(marks, "degraded")
	}
	return marks
}
