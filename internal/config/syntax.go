package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of what is handed to the parser, whose time grows with their square.
const (
	maxTokens       = 400_000
	maxTokensOfLine = 64 // outside brackets
	maxNesting      = 32 // of brackets
)

const plainHint = "Write it out, or put the text in quotes: the file is plain YAML without anchors, aliases, merge keys, tags and directives."

// syntax reads the text as one plain YAML document; nil when there is nothing in
// it or when a problem was found.
func (d *decoder) syntax(text string) ast.Node {
	tokens := lexer.Tokenize(text)
	if !d.bounded(tokens) {
		return nil
	}
	file, err := parsed(tokens)
	if err != nil {
		d.addSyntax(err)
		return nil
	}
	var body ast.Node
	for _, document := range file.Docs {
		if document.Body == nil || document.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			d.add(startOf(document.Body), "", "a second document begins here", "Keep one document in the file.")
			return nil
		}
		body = document.Body
	}
	return body
}

// parsed is the parser's answer; a panic of it is an error.
func parsed(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if left := recover(); left != nil {
			err = errors.New("the YAML parser cannot read this")
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// notPlain returns what the signs of YAML are called that have no place in a
// plain file.
func notPlain() map[token.Type]string {
	return map[token.Type]string{
		token.AnchorType:     "an anchor",
		token.AliasType:      "an alias",
		token.MergeKeyType:   "a merge key",
		token.TagType:        "a tag",
		token.DirectiveType:  "a directive",
		token.MappingKeyType: "a question mark before a key",
	}
}

// bounded reports whether the tokens are plain YAML within the bounds.
func (d *decoder) bounded(tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		d.add(position{}, "", fmt.Sprintf("the file has more than %d words and signs", maxTokens), "Split the components over several files.")
		return false
	}
	refused, before, ofLine := notPlain(), len(d.problems), lineLoad{}
	for _, each := range tokens {
		if name, ok := refused[each.Type]; ok {
			d.add(at(each.Position), "", "this is "+name, plainHint)
		}
		if ofLine.add(each) > maxTokensOfLine {
			d.add(at(each.Position), "", "too much stands on this line", "Write it on several lines.")
			break
		}
		if ofLine.depth > maxNesting {
			d.add(at(each.Position), "", fmt.Sprintf("the brackets are nested deeper than %d", maxNesting), "Close the brackets, or write block style.")
			break
		}
		if len(d.problems) > before+MaxProblems {
			break
		}
	}
	d.unreadable = len(d.problems) > before
	return !d.unreadable
}

// lineLoad counts the tokens of a line that are outside brackets.
type lineLoad struct{ line, tokens, depth int }

func (l *lineLoad) add(each *token.Token) int {
	if each.Position.Line != l.line {
		l.line, l.tokens = each.Position.Line, 0
	}
	if each.Type == token.MappingStartType || each.Type == token.SequenceStartType {
		l.depth++
	}
	if each.Type == token.MappingEndType || each.Type == token.SequenceEndType {
		l.depth--
	}
	if l.depth <= 0 {
		l.tokens++
	}
	return l.tokens
}

// addSyntax reports what the parser says, without any text of the file: what
// the file means is not known, so neither is what in it is a secret.
func (d *decoder) addSyntax(err error) {
	where, message := position{}, err.Error()
	if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		message = syntax.GetMessage()
		if syntax.GetToken() != nil && syntax.GetToken().Position != nil {
			where = at(syntax.GetToken().Position)
		}
	}
	d.unreadable = true
	message, _, _ = strings.Cut(message, "\n")
	message, _, _ = strings.Cut(message, `"`) // what is quoted there is of the file
	message = strings.TrimRight(message, ": ")
	message = strings.ReplaceAll(message, "\t", `\t`)
	d.add(where, "", "this is not YAML: "+message, "Check the indentation, the quotes and the brackets here and on the line before.")
}

// keyBefore is a key in the form that the keys of the file have.
var keyBefore = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[ \t-]*([a-z][a-z0-9_.-]*):( .*)?$`) })

// keyOnly masks what stands on a line that could not be read as YAML, but for
// the key, and for a value whose key tells that no secret stands there.
func keyOnly(line string) string {
	found := keyBefore().FindStringSubmatchIndex(line)
	if found == nil {
		return masked(line)
	}
	key, value := line[:found[3]], line[found[3]:]
	if showable(line[found[2]:found[3]], value) {
		return line
	}
	return key + masked(value)
}

// showable reports whether the key of a section tells that its value is no
// secret, and nothing in the value speaks against it.
func showable(key, value string) bool {
	switch key {
	case "components", "kind", "url", "mcp_url", "profile", "timeout", "interval", "require_tools", "expect_server", "listen", "canary", "tool", "expect",
		"ttl", "probing_deadline", "rise", "fall", "drift",
		"slots", "primary", "fallbacks", "min_version", "max_age", "runs",
		"retention", "raw", "hourly", "max_bytes", "patrol", "concurrency", "per_host",
		"alerts", "webhooks", "alertmanagers", "claim_waits", "send":
		return !strings.ContainsAny(value, "@{,?") && !longWord().MatchString(value)
	}
	return false
}

// longWord is a part of an address that may be a token, as services put it into
// the address of a webhook.
var longWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/[A-Za-z0-9_%.~-]{16,}(/|["' ]|$)`) })

// masked writes every letter, digit and other character of a text as a star, and
// keeps space and the signs that YAML is made of.
func masked(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t:,[]{}\"'#-|>", r) {
			return r
		}
		return '*'
	}, text)
}
