package main

import (
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/countersign-dev/countersign/gates/gatestest"
)

// pages is a corpus of one collection.
func pages(text string) fstest.MapFS {
	return fstest.MapFS{"handbook/passwords.md": {Data: []byte(text)}, "handbook/notes.txt": {Data: []byte("no page")}}
}

func TestServer_passesTheGatesAndSurvivesItsClients(t *testing.T) {
	books, err := readLibrary(pages("## Length\n\nSixteen characters."))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(newHandler(books))
	defer server.Close()
	gatestest.Run(t, server.URL, gatestest.RequireTools("search"))
}

func TestSearch_findsAChunkByItsWords(t *testing.T) {
	books, err := readLibrary(pages("# Passwords\n\n## Length\n\nSixteen characters.\n\n## Two words\n\nOther things."))
	if err != nil {
		t.Fatal(err)
	}
	chunks, count, err := books["handbook"].search(t.Context(), "sixteen", maxChunks)
	if err != nil || count != 1 || chunks[0].ID != "passwords.length" || chunks[0].Text != "Sixteen characters." {
		t.Errorf("got %+v of %d, %v", chunks, count, err)
	}
	if got := books["handbook"].beginning(); len(got) != 2 || got[1].ID != "passwords.two-words" {
		t.Errorf("it begins with %+v", got)
	}
}

func TestVersion_followsTheContentAlone(t *testing.T) {
	version := func(corpus fstest.MapFS) string {
		books, err := readLibrary(corpus)
		if err != nil {
			t.Fatal(err)
		}
		return books["handbook"].version
	}
	plain, again := version(pages("## A\n\na")), pages("## A\n\na")
	again["handbook/notes.txt"].Data = []byte("other notes")
	if version(again) != plain {
		t.Error("what is no page changes the version")
	}
	if version(pages("## A\n\nb")) == plain {
		t.Error("another text has the same version")
	}
	again["handbook/more.md"] = &fstest.MapFile{Data: []byte("")}
	if version(again) == plain {
		t.Error("an empty page does not change the version")
	}
}
