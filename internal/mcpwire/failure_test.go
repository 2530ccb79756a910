package mcpwire

import (
	"strings"
	"testing"
)

func TestExcerpt_quotesOfAPageOnlyWhatItSays(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Error</title>\n</head>\n<body>\n<pre>Cannot POST /mcp/mcp</pre>\n</body>\n</html>\n": "an HTML page: Error Cannot POST /mcp/mcp",
		"<html><style>p { color: red }</style><script>alert('x > y')</script><!-- <p>no --><p>a &lt;b&gt; &amp; c":                                                          "an HTML page: a <b> & c",
		"\xef\xbb\xbf \n<HTML>":                              "an HTML page",
		"<h1>Not found</h1>":                                 "an HTML page: Not found",
		"<!doctype html><script>" + strings.Repeat("x", 900): "an HTML page",
		"<html><p class='" + strings.Repeat("x", 900):        "an HTML page",
		"<error>an answer in XML</error>":                    "<error>an answer in XML</error>",
		"a < b, and\n a > c":                                 "a < b, and a > c",
		"":                                                   "",
	} {
		if got := excerpt([]byte(body)); got != want {
			t.Errorf("%.60q is quoted as %q, want %q", body, got, want)
		}
	}
}
