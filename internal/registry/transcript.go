package registry

// Transcript is what was exchanged in a gate that failed: capped, and without
// secrets. Everything in it that stems from the server is untrusted text.
type Transcript struct{}
