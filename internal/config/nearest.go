package config

import "strings"

// maxKeyLength bounds the keys for which a similar one is looked for.
const maxKeyLength = 40

// nearest returns the known key that was most likely meant; empty when none is
// similar.
func nearest(key string, known []string) string {
	if len(key) > maxKeyLength {
		return ""
	}
	best, fewest, meant := "", 3, bare(key)
	for _, candidate := range known {
		other := bare(candidate)
		if len(other)-len(meant) >= fewest || len(meant)-len(other) >= fewest {
			continue // which is cheaper to tell
		}
		if changes := distance(meant, other); changes < fewest && changes < len(candidate)-1 {
			best, fewest = candidate, changes
		}
	}
	return best
}

// bare is a key without what people write differently.
func bare(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(key), "_", ""), "-", "")
}

// distance is the number of insertions, deletions and replacements of bytes that
// make one text of the other (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
