package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/internal/registry"
)

// componentsPerPage bounds the rows of the page of components.
const componentsPerPage = 50

// Parameters of the pages of components.
const (
	paramKind   = "kind"
	paramSearch = "search"
	// paramAttention chooses what needs attention, by any value.
	paramAttention = "attention"
	paramResult    = "result" // shows this result in place of the newest
	paramProbed    = "probed" // tells what became of the probe with this result
)

// componentPages are the pages of components.
func componentPages() []page {
	served := func(o Options) bool { return o.Fleet != nil }
	return []page{
		{
			Route: Route{"GET /components", "components", "Components"}, inMenu: true, served: served,
			blank: componentsView{Refused: &refusal{}, Rows: []componentRow{{}}}, show: (*site).showComponents,
		},
		{
			Route: Route{"GET /components/{name}", "component", "A component"}, served: served,
			blank: componentView{Result: &resultView{}}, show: (*site).showComponent,
		},
	}
}

// componentsView is the page of components.
type componentsView struct {
	Kind, Status, Search string
	Kinds                []registry.Kind
	Statuses             []registry.Status
	Attention            bool // only what needs attention, the most pressing first
	Filtered             bool
	None                 bool // nothing is registered
	Source               Source
	Refused              *refusal // what is wrong with the address; nil when it was answered
	Rows                 []componentRow
	Pager                pager
}

// showComponents shows the components that the address asks for.
func (s *site) showComponents(r *http.Request) (frame, error) {
	asked := r.URL.Query()
	view := componentsView{
		Kind: asked.Get(paramKind), Status: asked.Get(paramStatus), Search: asked.Get(paramSearch),
		Attention: asked.Get(paramAttention) != "", Kinds: registry.Kinds(), Statuses: registry.Statuses(),
		None: len(s.Fleet.Registered().Components) == 0, Source: s.Source,
	}
	view.Filtered = view.Kind != "" || view.Status != "" || view.Search != "" || view.Attention
	made := frame{Topics: []string{topicComponents}}
	told, err := s.Fleet.Components(r.Context(), registry.ComponentQuery{
		Kind: registry.Kind(view.Kind), Status: registry.Status(view.Status), Search: view.Search,
		Attention: view.Attention, Limit: componentsPerPage, Cursor: asked.Get(paramCursor),
	})
	if view.Refused = refusalOf(err); view.Refused != nil {
		made.Status, made.Content = http.StatusBadRequest, view
		return made, nil
	}
	if err != nil {
		return frame{}, fmt.Errorf("list components: %w", err)
	}
	if view.Rows, err = s.rows(r.Context(), told.Components); err != nil {
		return frame{}, err
	}
	view.Pager = pagerOf(r, told.NextCursor)
	made.Content = view
	return made, nil
}

// probeNow probes a component, for at most registry.MaxProbeWait, and leads back to
// its page, which tells what became of it.
func (s *site) probeNow(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), registry.MaxProbeWait)
	defer cancel()
	name := r.PathValue("name")
	examined, err := s.Fleet.Probe(ctx, name)
	if err != nil {
		s.fail(w, r, "components", fmt.Errorf("probe %s: %w", registry.Shorten(name, registry.MaxName), err))
		return
	}
	back := url.URL{Path: "/components/" + name}
	if examined.ResultID != nil {
		back.RawQuery = url.Values{paramProbed: {*examined.ResultID}}.Encode()
	}
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}
