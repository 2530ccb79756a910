package mcpwire

// Exited is closed when the process of the client has ended.
func (c *Client) Exited() <-chan struct{} { return c.carrier.(*stdio).process.Exited() } //nolint:forcetypeassert // it is for clients of processes
