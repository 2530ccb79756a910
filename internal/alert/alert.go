// Package alert owns what people are told without asking: that a settled status
// changed, that a run starts on a fallback, that a claim waits for too long.
//
// It must not know how alerts are kept, nor who else listens. Its one idea is that
// an alert is a state with a beginning and an end, which is kept before it is
// told, so that neither a crash nor a repeated event tells it twice or never.
package alert
