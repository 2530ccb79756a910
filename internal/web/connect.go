package web

import "net/http"

// connectPages are the pages of what a client pastes, and of what else is served.
func connectPages() []page {
	return []page{{
		Route:  Route{Pattern: "GET /connect", Name: "connect", Title: "Connect"},
		inMenu: true, blank: connection{Receiver: receiverExample},
		show: func(s *site, _ *http.Request) (frame, error) {
			example := receiverExample
			if len(s.receivers()) > 0 {
				example = ""
			}
			return frame{Title: "Connect a client", Content: connection{
				URL: s.URL, OverHTTP: s.OverHTTP, OverStdio: s.OverStdio, Registry: s.Registry, Receiver: example,
			}}, nil
		},
	}}
}

// connection is what the page of clients is given.
type connection struct {
	URL       string
	OverHTTP  string
	OverStdio string
	Registry  RegistryClients
	Receiver  string // how to name one that is told of alerts; empty when somebody is
}
