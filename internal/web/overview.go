package web

import "net/http"

// overviewPages is the page that is opened first.
func overviewPages() []page {
	return []page{{
		Route:  Route{Pattern: "GET /{$}", Name: "overview", Title: "Overview"},
		inMenu: true, blank: overview{},
		show: func(s *site, r *http.Request) (frame, error) {
			return frame{Topics: []string{"component", "run", "task"}, Content: overview{}}, nil
		},
	}}
}

// overview is what the first page is given.
type overview struct{}
