package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/gates"
)

const (
	version     = "1.0.0"
	maxChunks   = 5
	defaultBook = "handbook"
)

// newHandler is the whole server: the MCP endpoint, and the gates beside it. The
// gate test asks whether the indexes can be searched; whether they hold what they
// should is not for the server to judge.
func newHandler(books library) http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "handbook", Version: version}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "search",
		Description: "Searches a collection, and says of which version its content is.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
	}, books.answer)

	mux := http.NewServeMux()
	mux.Handle("/mcp", http.NewCrossOriginProtection().Handler(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})))
	gates.Mount(mux, gates.Options{
		Service: "handbook", Version: version,
		Dependencies: []gates.Dependency{gates.Required("index", gates.Func(books.check))},
	})
	return mux
}

type question struct {
	Query      string `json:"query" jsonschema:"what to look for"`
	Collection string `json:"collection,omitempty" jsonschema:"where to look; handbook when it is left out"`
}

// answer is what a search brings. When nothing matches, it is the beginning of
// the collection, and says that it is a fallback.
type answer struct {
	ContentVersion string  `json:"content_version"`
	Count          uint64  `json:"count"`
	Fallback       bool    `json:"fallback"`
	Results        []chunk `json:"results"`
}

func (books library) answer(ctx context.Context, _ *mcp.CallToolRequest, asked question) (*mcp.CallToolResult, answer, error) {
	name := cmp.Or(asked.Collection, defaultBook)
	book, ok := books[name]
	if !ok {
		return nil, answer{}, fmt.Errorf("collection %q does not exist", name)
	}
	chunks, count, err := book.search(ctx, asked.Query, maxChunks)
	if err != nil {
		return nil, answer{}, err
	}
	found := answer{ContentVersion: book.version, Count: count, Results: chunks}
	if count == 0 {
		found.Results, found.Fallback = book.beginning(), true
	}
	return nil, found, nil
}

// check asks every index how much it holds.
func (books library) check(context.Context) error {
	if len(books) == 0 {
		return errors.New("there is no collection")
	}
	for name, book := range books {
		if _, err := book.index.DocCount(); err != nil {
			return fmt.Errorf("the index of %s: %w", name, err)
		}
	}
	return nil
}
