package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2"
)

// chunk is a section of a page: what lies between two headings of the second
// level.
type chunk struct {
	ID    string  `json:"id"`
	Title string  `json:"title"`
	Text  string  `json:"text"`
	Score float64 `json:"score"`
}

// collection is what is searched as one.
type collection struct {
	index   bleve.Index
	chunks  map[string]chunk // by id
	version string           // the digest of all pages
}

// library is the collections by name.
type library map[string]*collection

// readLibrary indexes each folder of a corpus.
func readLibrary(corpus fs.FS) (library, error) {
	folders, err := fs.ReadDir(corpus, ".")
	if err != nil {
		return nil, fmt.Errorf("read the corpus: %w", err)
	}
	books := library{}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		if books[folder.Name()], err = readCollection(corpus, folder.Name()); err != nil {
			return nil, err
		}
	}
	return books, nil
}

// readCollection indexes the Markdown files of a folder. The version of the
// content is made of their names and texts, and of nothing else.
func readCollection(corpus fs.FS, folder string) (*collection, error) {
	pages, err := fs.Glob(corpus, path.Join(folder, "*.md"))
	if err != nil {
		return nil, fmt.Errorf("list the pages of %s: %w", folder, err)
	}
	slices.Sort(pages)
	index, err := bleve.NewMemOnly(bleve.NewIndexMapping())
	if err != nil {
		return nil, fmt.Errorf("make the index of %s: %w", folder, err)
	}
	made := &collection{index: index, chunks: map[string]chunk{}}
	digest := sha256.New()
	for _, name := range pages {
		text, err := fs.ReadFile(corpus, name)
		if err != nil {
			return nil, fmt.Errorf("read a page: %w", err)
		}
		fmt.Fprintf(digest, "%s %d\n%s", path.Base(name), len(text), text)
		for _, each := range split(strings.TrimSuffix(path.Base(name), ".md"), string(text)) {
			if err := index.Index(each.ID, map[string]string{"title": each.Title, "text": each.Text}); err != nil {
				return nil, fmt.Errorf("index %s: %w", each.ID, err)
			}
			made.chunks[each.ID] = each
		}
	}
	made.version = "sha256:" + hex.EncodeToString(digest.Sum(nil))
	return made, nil
}

// split cuts a page at its headings of the second level. The id of a chunk is the
// name of its page and its heading: passwords.length.
func split(page, text string) []chunk {
	var chunks []chunk
	for _, section := range strings.Split("\n"+text, "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		id := page + "." + strings.ReplaceAll(strings.ToLower(strings.TrimSpace(title)), " ", "-")
		chunks = append(chunks, chunk{ID: id, Title: strings.TrimSpace(title), Text: strings.TrimSpace(body)})
	}
	return chunks
}

// search returns the chunks that match best, and how many match in all.
func (c *collection) search(ctx context.Context, query string, most int) ([]chunk, uint64, error) {
	request := bleve.NewSearchRequestOptions(bleve.NewMatchQuery(query), most, 0, false)
	found, err := c.index.SearchInContext(ctx, request)
	if err != nil {
		return nil, 0, fmt.Errorf("search the index: %w", err)
	}
	chunks := []chunk{}
	for _, hit := range found.Hits {
		one := c.chunks[hit.ID]
		one.Score = hit.Score
		chunks = append(chunks, one)
	}
	return chunks, found.Total, nil
}

// beginning is the first chunks by their ids.
func (c *collection) beginning() []chunk {
	chunks := []chunk{}
	for _, id := range slices.Sorted(maps.Keys(c.chunks)) {
		if len(chunks) < maxChunks {
			chunks = append(chunks, c.chunks[id])
		}
	}
	return chunks
}
