// Package e2e drives the real binary: by scripts on both databases, by the
// official MCP clients, against real MCP servers, through the official
// conformance suite, and by every command that a document shows.
//
// It owns no program code. Its one idea is that only what a user runs is proof.
// The tests run in a network namespace of their own where the kernel grants one,
// so that nothing they start can be reached, or reach anything, outside.
package e2e
