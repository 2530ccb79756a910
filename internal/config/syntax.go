package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

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
)

const plainHint = "Write it out, or put the text in quotes: the file is plain YAML without anchors, aliases, merge keys, tags and directives."

// syntax reads the text as one plain YAML document; nil when there is nothing in
// it or when a problem was found.
func (d *decoder) syntax(text string) ast.Node {
	if deepestYAML(text) > maxNesting {
		d.add(position{}, "", fmt.Sprintf("the brackets are nested deeper than %d", maxNesting), "Close the brackets, or write block style.")
		return nil
	}
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

// bounded reports whether the tokens are plain YAML within the bounds.
func (d *decoder) bounded(tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		d.add(position{}, "", fmt.Sprintf("the file has more than %d words and signs", maxTokens), "Split the components over several files.")
		return false
	}
	before, depth, line, ofLine := len(d.problems), 0, 0, 0
	for _, each := range tokens {
		if len(d.problems) > before+MaxProblems || ofLine > maxTokensOfLine {
			break
		}
		if each.Position.Line != line {
			line, ofLine = each.Position.Line, 0
		}
		switch each.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			d.add(at(each.Position), "", "this is "+named(each.Type), plainHint)
		case token.MappingKeyType:
			d.add(at(each.Position), "", "this is a key after a question mark", `Write "key: value".`)
		default:
		}
		if depth <= 0 {
			ofLine++
		}
		if ofLine > maxTokensOfLine {
			d.add(at(each.Position), "", "too much stands on this line", "Write it on several lines.")
		}
	}
	d.unreadable = len(d.problems) > before
	return !d.unreadable
}

// named is a sign of YAML that does not belong into a plain file.
func named(kind token.Type) string {
	switch kind {
	case token.AnchorType:
		return "an anchor"
	case token.AliasType:
		return "an alias"
	case token.MergeKeyType:
		return "a merge key"
	case token.DirectiveType:
		return "a directive"
	default:
		return "a tag"
	}
}

// addSyntax reports what the parser says, without any text of the file: what
// the file means is not known, so neither is what in it is a secret.
func (d *decoder) addSyntax(err error) {
	where, message := position{}, err.Error()
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) {
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
var keyBefore = regexp.MustCompile(`^[ \t-]*([a-z][a-z0-9_.-]{0,63}):( .*)?$`)

// keyOnly masks what stands on a line that could not be read as YAML, but for
// the key, and for a value whose key tells that no secret stands there.
func keyOnly(line string) string {
	found := keyBefore.FindStringSubmatchIndex(line)
	if found == nil {
		return masked(line)
	}
	key, value := line[:found[3]], line[found[3]:]
	switch line[found[2]:found[3]] {
	case "components", "kind", "url", "mcp_url", "profile", "timeout", "interval", "require_tools", "expect_server", "listen", "canary", "tool", "expect":
		if !strings.ContainsAny(value, "@{,?") {
			return line
		}
	}
	return key + masked(value)
}

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
