package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// placeholder is ${...} as the clients write it.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^${}]*)\}`) })

// variable is a name with or without what stands for it when it is unset.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?:(:-)(.*))?$`) })

// expander fills placeholders.
type expander struct {
	workspace string // the folder of the project that the file belongs to
	start     string // where a server starts whose entry says nothing about it; empty for anywhere
	lookup    func(name string) (value string, ok bool)
}

// fill returns a text with its placeholders filled. The error names the key and
// the placeholder, and nothing else of the text.
func (e expander) fill(key, text string) (string, error) {
	var failed error
	filled := placeholder().ReplaceAllStringFunc(text, func(found string) string {
		value, err := e.value(strings.TrimSuffix(strings.TrimPrefix(found, "${"), "}"))
		if failed == nil {
			failed = err
		}
		return value
	})
	if failed != nil {
		return "", fmt.Errorf("%s: %w", key, failed)
	}
	return filled, nil
}

func (e expander) value(name string) (string, error) {
	switch name {
	case "workspaceFolder":
		return e.workspace, nil
	case "workspaceFolderBasename":
		return filepath.Base(e.workspace), nil
	case "pathSeparator", "/":
		return string(filepath.Separator), nil
	case "userHome":
		name = "HOME"
	}
	if id, ok := strings.CutPrefix(name, "input:"); ok {
		return "", fmt.Errorf("the client asks a person for the input %q, which a probe cannot; give it as ${NAME} in a file of its own", shortened(id))
	}
	parts := variable().FindStringSubmatch(name)
	if parts == nil {
		return "", errors.New("only the client itself can fill one of the placeholders")
	}
	value, ok := e.lookup(parts[1])
	switch {
	case parts[2] != "" && value == "":
		return parts[3], nil
	case !ok:
		return "", fmt.Errorf("the environment variable %s is not set", shortened(parts[1]))
	}
	return value, nil
}

// shortened keeps a message short, whatever a file says.
func shortened(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return text
}
