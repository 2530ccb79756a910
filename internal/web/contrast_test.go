package web_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// The least contrasts of WCAG 2.2, level AA: of text, and of what is no text but
// has to be seen.
const (
	ofText = 4.5
	ofMark = 3.0
)

// token is a colour of the style sheet in the light and in the dark.
var token = regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`)

func TestStyle_hasEnoughContrastInBothThemes(t *testing.T) {
	sheet, err := os.ReadFile("assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	themes := map[string]map[string]string{"light": {}, "dark": {}}
	for _, found := range token.FindAllStringSubmatch(string(sheet), -1) {
		themes["light"][found[1]], themes["dark"][found[1]] = found[2], found[3]
	}
	pairs := map[string]float64{
		"brass on plate": ofMark, "rule on paper": ofMark, "rule on sheet": ofMark, "link on sheet": ofText,
		"plate-ink on plate": ofText, "plate-faint on plate": ofText, "link on paper": ofText, "bad on alarm": ofText, "ink on alarm": ofText,
		"ink on fresh": ofText, "faint on fresh": ofText, "link on fresh": ofText, "bad on fresh": ofText, "good on fresh": ofText, "warn on fresh": ofText,
	}
	for _, text := range []string{"ink", "faint", "good", "bad", "warn"} {
		pairs[text+" on paper"], pairs[text+" on sheet"] = ofText, ofText
	}
	for theme, colours := range themes {
		for pair, least := range pairs {
			var upper, lower string
			if _, err := fmt.Sscanf(pair, "%s on %s", &upper, &lower); err != nil || colours[upper] == "" || colours[lower] == "" {
				t.Errorf("the style sheet has no colours for %s", pair)
				continue
			}
			if got := contrast(t, colours[upper], colours[lower]); got < least {
				t.Errorf("in the %s theme %s has a contrast of %.2f, below %.1f", theme, pair, got, least)
			}
		}
	}
}

func TestContrast_isThatOfTheStandard(t *testing.T) {
	for pair, want := range map[[2]string]float64{{"#000000", "#ffffff"}: 21, {"#777777", "#ffffff"}: 4.48, {"#ffffff", "#ffffff"}: 1} {
		if got := contrast(t, pair[0], pair[1]); math.Abs(got-want) > 0.01 {
			t.Errorf("the contrast of %v is %.3f, want %.2f", pair, got, want)
		}
	}
}

// contrast is the ratio of WCAG 2.2 between two colours.
func contrast(t *testing.T, one, other string) float64 {
	t.Helper()
	a, b := luminance(t, one), luminance(t, other)
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// luminance is the relative luminance of WCAG 2.2 of a colour such as #1b211e.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		part, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		linear := float64(part) / 255
		if linear <= 0.04045 {
			linear /= 12.92
		} else {
			linear = math.Pow((linear+0.055)/1.055, 2.4)
		}
		sum += weight * linear
	}
	return sum
}
