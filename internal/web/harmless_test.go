package web_test

import (
	"io/fs"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/countersign-dev/countersign/internal/web"
)

// sceneAddresses are pages that show every text of strangers in a scene.
func sceneAddresses(t *testing.T) []string {
	t.Helper()
	addresses := []string{"/", "/components", "/runs", "/connect", "/components/nowhere", "/components?search=" + "%3Cscript%3E"}
	for name := range foreign(asItIs).results() {
		addresses = append(addresses, "/components/"+name)
	}
	slices.Sort(addresses)
	return addresses
}

func TestPages_showHostileTextAsTextThatDoesNothing(t *testing.T) {
	plain, attacked := foreign(asItIs).opened(t), foreign(hostileText).opened(t)
	attacked.Rejected = func() *web.Rejection {
		return &web.Rejection{File: hostileText("/etc/a.yaml"), Message: hostileText("line 3\nline 4"), Since: noon}
	}
	plain.Rejected = func() *web.Rejection {
		return &web.Rejection{File: "/etc/a.yaml", Message: "line 3\nline 4", Since: noon}
	}
	for _, address := range sceneAddresses(t) {
		want := shapeOf(t, visit(t, plain, address).Body.String())
		page := visit(t, attacked, address).Body.String()
		got := shapeOf(t, page)
		for tag, n := range got {
			// What is cut off gets a way to see the rest; nothing else may appear.
			if n != want[tag] && !slices.Contains([]string{"span", "details", "summary", "div", "p"}, tag) {
				t.Errorf("%s: there are %d elements %s and without the attack %d", address, n, tag, want[tag])
			}
		}
		for _, r := range page {
			if r != '\n' && r != '\t' && (unicode.In(r, unicode.Cc, unicode.Cf) || r == '\u2028') {
				t.Errorf("%s: the page holds %U", address, r)
				break
			}
		}
		if address != "/connect" && !strings.Contains(address, "nowhere") && !strings.Contains(address, "?") && !strings.Contains(page, `\u202e`) {
			t.Errorf("%s: the attack is not on the page, so this shows nothing", address)
		}
	}
}

// shapeOf counts the elements of a page by their tags, and fails when one does
// something: by an attribute, an address, or itself.
func shapeOf(t *testing.T, page string) map[string]int {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for node := range tree.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		counts[node.Data]++
		for _, attribute := range node.Attr {
			switch name := strings.ToLower(attribute.Key); {
			case strings.HasPrefix(name, "on"), name == "style", name == "srcdoc":
				t.Errorf("an element %s has the attribute %s", node.Data, name)
			case slices.Contains([]string{"href", "src", "action", "formaction"}, name) && !strings.HasPrefix(attribute.Val, "/") && !strings.HasPrefix(attribute.Val, "#"):
				t.Errorf("an element %s leads to %.100q", node.Data, attribute.Val)
			}
		}
		if node.Data == "script" && (node.FirstChild != nil || node.Parent.Data != "head") {
			t.Error("there is a script within the page")
		}
	}
	return counts
}

func TestPages_boundWhatStrangersCanMakeThemHold(t *testing.T) {
	most := map[string]int{"/": 96 << 10, "/components": 96 << 10}
	options := foreign(hostileText).opened(t)
	for _, address := range sceneAddresses(t) {
		limit := 512 << 10
		if own, has := most[address]; has {
			limit = own
		}
		if got := visit(t, options, address).Body.Len(); got > limit {
			t.Errorf("%s has %d bytes, more than %d", address, got, limit)
		}
	}
	largest := largestConfiguration()
	for address, limit := range map[string]int{"/": 96 << 10, "/runs": 96 << 10, "/runs/largest": 512 << 10, "/components/busy": 64 << 10} {
		if got := visit(t, largest, address).Body.Len(); got > limit {
			t.Errorf("of the largest configuration %s has %d bytes, more than %d", address, got, limit)
		}
	}
}

// toldAge is a cell that tells how long ago something was.
var toldAge = regexp.MustCompile(`<td [^>]*class="age"[^>]*>(.*?)</td>`)

// An age that is bare text stands still while nobody reads the page anew, and says
// nothing of when that was.
func TestPages_letEveryAgeGoOn(t *testing.T) {
	options, ages := foreign(asItIs).opened(t), 0
	options.Runs = &runDouble{view: someRun()}
	for _, address := range append(sceneAddresses(t), "/runs/nightly") {
		for _, cell := range toldAge.FindAllStringSubmatch(visit(t, options, address).Body.String(), -1) {
			ages++
			if strings.ContainsAny(cell[1], "0123456789") && !strings.Contains(cell[1], " data-age>") {
				t.Errorf("%s: %s", address, cell[0])
			}
		}
	}
	if ages < 10 {
		t.Errorf("only %d ages were found", ages)
	}
}

// unescaped is what would take text past the escaping of html/template.
var unescaped = regexp.MustCompile(`template\.(HTML|JS|CSS|URL|Srcset|HTMLAttr|JSStr)\b|text/template|safe(html|js|url)`)

func TestPages_letNoTextPastTheEscaping(t *testing.T) {
	for name, text := range sources(t) {
		if found := unescaped.FindString(text); found != "" {
			t.Errorf("%s uses %s", name, found)
		}
		if strings.HasSuffix(name, ".tmpl") && regexp.MustCompile(`\sstyle=|\son[a-z]+=|<style|javascript:|https?://[^1]`).MatchString(text) {
			t.Errorf("%s has what the policy of pages forbids", name)
		}
		if strings.HasSuffix(name, ".js") && regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setInterval`).MatchString(text) {
			t.Errorf("%s makes markup or code of text, or polls", name)
		}
	}
}

// sources are the files of the package that make pages.
func sources(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "testdata/") {
			return err
		}
		content, err := fs.ReadFile(os.DirFS("."), name)
		found[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Fatalf("found only %v", slices.Sorted(maps.Keys(found)))
	}
	return found
}

func TestAssets_areServedWithTheirTypes(t *testing.T) {
	for path, kind := range map[string]string{
		"/assets/style.css": "text/css; charset=utf-8", "/assets/live.js": "text/javascript; charset=utf-8", "/assets/mark.svg": "image/svg+xml",
	} {
		answer := visit(t, web.Options{}, path)
		if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != kind || answer.Body.Len() == 0 {
			t.Errorf("GET %s = %d, %s, %d bytes", path, answer.Code, answer.Header().Get("Content-Type"), answer.Body.Len())
		}
	}
}
