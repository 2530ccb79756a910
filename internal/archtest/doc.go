// Package archtest holds the house to its rules: the import table of
// ARCHITECTURE.md, the sizes of functions and files, names, and what documents
// say. It owns no program code and imports none; its one idea is that a rule
// nobody checks is not a rule, and so every checker is tried on a planted
// violation first.
package archtest
