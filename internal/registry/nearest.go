package registry

import "strings"

// maxNearest is how many changes of a byte part a name from the nearest one at
// most.
const maxNearest = 2

// Nearest returns the known name that was most likely meant by another; empty
// when none is similar. Case, hyphens and underscores count for nothing.
func Nearest(name string, known []string) string {
	if len(name) > MaxName {
		return ""
	}
	best, fewest, meant := "", maxNearest+1, bare(name)
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

// bare is a name without what people write differently.
func bare(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(name), "_", ""), "-", "")
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
