package gates

import "context"

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
