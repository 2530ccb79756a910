//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
)

// envPictures has the pictures of the guide taken anew.
const envPictures = "COUNTERSIGN_SCREENSHOTS"

const (
	pictureWidth = 1280
	maxPicture   = 150_000 // bytes of one
	maxTall      = 1600    // pixels; what is below is cut off
)

// takePictures takes the pictures of the guide. It writes them when it is asked
// to; else it looks whether they are there.
func takePictures(t *testing.T, s *scene, b *browser) {
	p := b.tab(t, s.address)
	of := map[string]string{
		"overview": "/", "components": "/components", "component": "/components/sast", "runs": "/runs", "run": "/runs/eu-nightly",
		"tasks": "/tasks", "task": "/tasks/" + s.tasks["lineage-2"], "agents": "/agents", "agent": "/agents/night-bot", "connect": "/connect",
	}
	for _, route := range pageRoutes() {
		path, ok := of[route.Name]
		if !ok {
			t.Errorf("nobody takes a picture of %s", route.Name)
			continue
		}
		p.picture(t, s, route.Name, path, "light")
	}
	p.picture(t, s, "overview-dark", "/", "dark")
	p.picture(t, s, "drift", "/components/tickets", "light")
}

// elsewhere has an open page name the folders of this run as those of a server
// would be called.
const elsewhere = `(() => {
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) for (const folder of %s) texts.currentNode.data = texts.currentNode.data.replaceAll(folder, '/srv');
	return !%[1]s.some((folder) => document.body.textContent.includes(folder));
})()`

// picture takes one picture, and writes it or looks for the one that is there.
func (p *tab) picture(t *testing.T, s *scene, name, path, theme string) {
	t.Helper()
	p.look(t, theme, pictureWidth)
	p.open(t, path)
	folders := fmt.Sprintf("[%q, %q]", s.folder, filepath.Dir(s.database))
	if !evaluate[bool](t, p, fmt.Sprintf(elsewhere, folders)) {
		t.Errorf("%s names a folder of this run", path)
	}
	tall := min(evaluate[int64](t, p, `document.documentElement.scrollHeight`), maxTall)
	command(t, p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: pictureWidth, Height: tall, DeviceScaleFactor: 1})
	taken := command(t, p, page.CaptureScreenshot, page.CaptureScreenshotParams{}).Data
	file := filepath.Join("..", "docs", "images", name+".png")
	if os.Getenv(envPictures) != "" {
		must(t, os.WriteFile(file, smaller(t, taken), 0o644))
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; %s=1 go test ./e2e -run TestPages takes it", err, envPictures)
	}
	for _, each := range [][]byte{taken, kept} {
		if drawn, err := png.DecodeConfig(bytes.NewReader(each)); err != nil || drawn.Width != pictureWidth {
			t.Errorf("%s: %v, %d px wide, want %d", file, err, drawn.Width, pictureWidth)
		}
	}
	if len(kept) > maxPicture {
		t.Errorf("%s has %d bytes, want %d at most", file, len(kept), maxPicture)
	}
}

// smaller is a picture in at most 256 colours, each near the one that was there.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	drawn, err := png.Decode(bytes.NewReader(picture))
	must(t, err)
	size := drawn.Bounds()
	counts := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA {
		r, g, b, _ := drawn.At(x, y).RGBA()
		return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
	}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	palette := paletteOf(counts)
	nearest := map[color.RGBA]uint8{}
	for each := range counts {
		nearest[each] = uint8(palette.Index(each))
	}
	painted := image.NewPaletted(size, palette)
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			painted.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var made bytes.Buffer
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&made, painted))
	return made.Bytes()
}

// paletteOf are the colours that are most of a picture, none so near another that there
// are more than 256: what is small has its colour too, such as a lamp.
func paletteOf(counts map[color.RGBA]int) color.Palette {
	most := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int { return counts[b] - counts[a] })
	for apart := 0; ; apart += 2 {
		var palette color.Palette
		for _, each := range most {
			if !slices.ContainsFunc(palette, func(other color.Color) bool { return near(each, other.(color.RGBA), apart) }) { //nolint:forcetypeassert // it holds no others
				palette = append(palette, each)
			}
		}
		if len(palette) <= 256 {
			return palette
		}
	}
}

// near reports whether two colours differ by at most so much in each of their parts.
func near(a, b color.RGBA, apart int) bool {
	differ := func(a, b uint8) bool { return max(a, b)-min(a, b) > uint8(apart) }
	return !differ(a.R, b.R) && !differ(a.G, b.G) && !differ(a.B, b.B)
}
