package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/countersign-dev/countersign/internal/config"
)

// What is asked must be there, whole pages of it, or the pages of a small server
// would be small for another reason than its size.
func TestComparePages_findsEveryAddress(t *testing.T) {
	t.Parallel()
	l := &lab{directory: t.TempDir(), log: t.Output(), rounds: 1, asks: 2, events: 1}
	if err := l.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := l.comparePages(t.Context(), amounts{2 * fewOfAll, fewOfAll}, amounts{fewOfAll, fewOfAll})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.figures) != len(addresses())+1 {
		t.Errorf("%d figures of %d addresses", len(found.figures), len(addresses()))
	}
	for _, f := range found.figures {
		if len(f.ours) != 1 || f.ours[0] <= 0 || f.beside[0] <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

// The results are of the components that the server has registered, else it would
// take them for others and probe them.
func TestFleetFile_registersTheFleet(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "countersign.yaml")
	if err := os.WriteFile(file, []byte(fleetFile(3)), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	of, err := newFleet(3, seldom)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range loaded.Registered().Components {
		definition, err := each.Definition()
		if err != nil || definition != of.present[each.Name].Registration.Definition || each.Interval != seldom {
			t.Errorf("%s is defined as %s every %v: %v", each.Name, definition, each.Interval, err)
		}
	}
	if runs := loaded.Registered().Runs; len(runs) != 3 {
		t.Errorf("%d runs of 3 components", len(runs))
	}
}
