// Package schema owns what callers may say and what they are answered: the
// arguments of every operation with their JSON Schemas and their strict decoding,
// and the schemas of answers.
//
// It must not know transports. Its one idea is that an argument is described once,
// so that the tools and the API take the same and refuse it in the same words.
package schema
