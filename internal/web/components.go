package web

import "net/http"

// maxProbing is how many probes pages wait for at once.
const maxProbing = 16

// componentPages are the pages of components.
func componentPages() []page { return nil }

// probeNow probes a component and shows it again.
func (s *site) probeNow(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/components/"+r.PathValue("name"), http.StatusSeeOther)
}
