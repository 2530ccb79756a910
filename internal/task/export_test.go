package task

// VerifyBody lets the tests try what Rebuild asks of each transition.
func VerifyBody(t Transition) error {
	_, err := readBody(t)
	return err
}
