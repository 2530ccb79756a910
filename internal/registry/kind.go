package registry

import "fmt"

// Kind says what a component is, and so how it is proven. What belongs to one
// kind alone stands in a file of its own: mcpserver.go.
type Kind string

// KindMCPServer is proven by the three gates.
const KindMCPServer Kind = "mcp_server"

// Kinds returns every kind, in the order in which they are documented.
func Kinds() []Kind { return []Kind{KindMCPServer} }

// DecodeResult reads a document that the MarshalJSON of a result of a kind wrote.
// It refuses one whose claim to have passed its parts do not support.
func DecodeResult(kind Kind, document []byte) (Result, error) {
	if kind == KindMCPServer {
		var result ProbeResult
		if err := result.UnmarshalJSON(document); err != nil {
			return nil, err
		}
		return &result, nil
	}
	return nil, fmt.Errorf("decode a probe result: there is no kind %q", kind)
}
