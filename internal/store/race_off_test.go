//go:build !race

package store_test

// raceDetector says that the race detector, which slows everything, is on.
const raceDetector = false
