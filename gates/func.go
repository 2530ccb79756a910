package gates

import (
	"cmp"
	"context"
)

// Func is a check of your own: nil says that the dependency works, an error that
// it does not. The text of the error is shown by /test to anyone, so it must
// hold no secret. A Func returns when ctx is done.
type Func func(ctx context.Context) error

func (f Func) check(ctx context.Context) finding {
	if f == nil {
		return finding{detail: detailNotConfigured}
	}
	if err := f(ctx); err != nil {
		return finding{present: true, detail: err.Error()}
	}
	return finding{present: true, works: true, detail: "check passed"}
}

// DetailFunc is a [Func] that says what it found when the dependency works, in
// one line that /test shows to anyone; when it says nothing, that the check
// passed. The line of a check that fails is its error.
type DetailFunc func(ctx context.Context) (detail string, err error)

func (f DetailFunc) check(ctx context.Context) finding {
	if f == nil {
		return finding{detail: detailNotConfigured}
	}
	detail, err := f(ctx)
	if err != nil {
		return finding{present: true, detail: err.Error()}
	}
	return finding{present: true, works: true, detail: cmp.Or(detail, "check passed")}
}
