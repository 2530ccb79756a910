package storetest

import "io"

func work(io.Reader, io.Writer) error { return nil }
