// Package storetest proves a store: one suite that SQLite and PostgreSQL pass,
// attacks with raw SQL on every invariant, models, histories across processes,
// and a private PostgreSQL server for tests that need one.
//
// It must not know how the store does its work: it opens databases by their
// location, as the program does. Its one idea is that whoever tests against a
// database tests against both.
package storetest
