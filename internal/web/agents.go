package web

// agentPages are the pages of agents.
func agentPages() []page { return nil }
