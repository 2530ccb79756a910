package front

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Headers of the protocol.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerSession = "Mcp-Session-Id"
)

// modern reports whether a request is of the modern era, and what is wrong with
// what its header and its _meta say about that: both must name the version, the
// header also repeats method and name (revision 2026-07-28, streamable HTTP).
func modern(header http.Header, got request) (bool, *wireError) {
	version := header.Get(headerVersion)
	switch {
	case version == "" && got.protocol == "":
		return false, nil
	case !slices.Contains(offered(), cmp.Or(version, got.protocol)):
		return true, unsupported(cmp.Or(version, got.protocol))
	case version != modernVersion && got.protocol == "":
		return false, nil
	case got.protocol == "":
		return true, refusal(codeInvalidParams, "_meta holds no %s", metaVersion)
	case got.protocol != version:
		return true, refusal(codeHeaderMismatch, "the header %s is %.40q and %s in _meta is %.40q", headerVersion, version, metaVersion, got.protocol)
	case version != modernVersion:
		return false, nil
	case !got.declared:
		return true, refusal(codeInvalidParams, "_meta holds no object %s", metaCapabilities)
	}
	return true, checkHeader(header, got)
}

func unsupported(version string) *wireError {
	problem := refusal(codeUnsupportedVersion, "unsupported protocol version %.40q", version)
	problem.Data = map[string]any{"supported": offered(), "requested": version}
	return problem
}

func checkHeader(header http.Header, got request) *wireError {
	switch method := header.Get(headerMethod); {
	case method == "":
		return refusal(codeHeaderMismatch, "the header %s is missing", headerMethod)
	case method != got.method:
		return refusal(codeHeaderMismatch, "the header %s is %.80q and the method is %.80q", headerMethod, method, got.method)
	}
	member := map[string]string{methodCallTool: "name", methodGetPrompt: "name", methodRead: "uri"}[got.method]
	if member == "" {
		return nil
	}
	name := got.params.text(member)
	if given, ok := plain(header.Get(headerName)); !ok || given != name {
		return refusal(codeHeaderMismatch, "the header %s does not hold the %s of the request", headerName, member)
	}
	return nil
}

// plain is the text of a header that may be written as =?base64?...?=.
func plain(value string) (string, bool) {
	const begin, end = "=?base64?", "?="
	if !strings.HasPrefix(value, begin) || !strings.HasSuffix(value, end) || len(value) < len(begin)+len(end) {
		return value, value != ""
	}
	text, err := base64.StdEncoding.DecodeString(value[len(begin) : len(value)-len(end)])
	return string(text), err == nil
}

// Methods that are passed on to the child, which is every question that can be
// answered at once; what needs a session or a push is not.
const (
	methodCallTool  = "tools/call"
	methodDiscover  = "server/discover" // answered by the front itself
	methodGetPrompt = "prompts/get"
	methodListTools = "tools/list"
	methodRead      = "resources/read"
)

func isPassedOn(method string) bool {
	return slices.Contains([]string{
		methodListTools, methodCallTool, methodRead, methodGetPrompt,
		"resources/list", "resources/templates/list", "prompts/list", "completion/complete",
	}, method)
}

// isCacheable reports whether results of the method say how long they hold.
func isCacheable(method string) bool {
	return method == methodRead || method == methodDiscover || strings.HasSuffix(method, "/list")
}

// modernized adds to a result of a legacy server what a modern one says. What is
// there stays, known or not.
func (h hello) modernized(method string, result json.RawMessage) json.RawMessage {
	var members, meta map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil || members == nil {
		return result
	}
	add := func(name, value string) {
		if _, present := members[name]; !present {
			members[name] = json.RawMessage(value)
		}
	}
	add("resultType", `"complete"`)
	if isCacheable(method) {
		add("ttlMs", "0")
		add("cacheScope", `"private"`)
	}
	_, present := members["_meta"]
	if json.Unmarshal(members["_meta"], &meta) != nil && present {
		return encode(members)
	}
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	if _, present := meta[metaServer]; !present {
		meta[metaServer] = h.introduction()
		members["_meta"] = encode(meta)
	}
	return encode(members)
}
