package web

// runPages are the pages of runs.
func runPages() []page { return nil }
