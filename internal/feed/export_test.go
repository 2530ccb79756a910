package feed

// Held is how many events the follower holds in memory, and has room for.
func (f *Follower) Held() (held, room int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.held), cap(f.held)
}
