package cli

import "github.com/countersign-dev/countersign/internal/words"

// visible returns untrusted text in a form that is safe to send to a terminal.
func visible(text string) string { return words.Visible(text) }

// counted is a number of things in words.
func counted(number int, noun string) string { return words.Counted(number, noun) }
