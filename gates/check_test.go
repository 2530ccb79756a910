package gates_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/gates"
)

func TestTest_executesOnceForManyConcurrentRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var executions atomic.Int64
		handler := mounted(gates.Required("index", gates.Func(func(ctx context.Context) error {
			executions.Add(1)
			select {
			case <-time.After(3 * time.Second):
			case <-ctx.Done():
			}
			return nil
		})))
		var group sync.WaitGroup
		for range 200 {
			group.Go(func() {
				if status := get(handler, "/test").Code; status != http.StatusOK {
					t.Errorf("/test = %d", status)
				}
			})
		}
		group.Wait()
		if n := executions.Load(); n != 1 {
			t.Errorf("%d executions, want 1", n)
		}
	})
}

func TestTest_usesAResultUntilItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var executions int
		handler := mounted(gates.Required("index", gates.Func(func(context.Context) error {
			executions++
			if executions > 1 {
				return errors.New("broken since")
			}
			return nil
		})))
		steps := []struct {
			wait   time.Duration
			status int
			age    int64
		}{
			{0, 200, 0},
			{gates.DefaultCacheFor - time.Millisecond, 200, 4999},
			{time.Millisecond, 503, 0},
		}
		for _, step := range steps {
			<-time.After(step.wait)
			status, body := askTest(t, handler)
			if age := body.Tools["index"].AgeMs; status != step.status || age != step.age {
				t.Errorf("after %s more /test = %d with age %d ms, want %d with %d ms", step.wait, status, age, step.status, step.age)
			}
		}
	})
}

func TestTest_renewsAResultThatGrewOldWhileASlowerCheckRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := mounted(
			gates.Required("fast", gates.Func(works)),
			gates.Required("slow", gates.Func(func(context.Context) error {
				<-time.After(9 * time.Second)
				return nil
			})),
		)
		_, body := askTest(t, handler)
		if fast, slow := body.Tools["fast"].AgeMs, body.Tools["slow"]; fast != 0 || slow.AgeMs != 0 || slow.LatencyMs != 9000 {
			t.Errorf("fast is %d ms old, slow is %+v; want both new", fast, slow)
		}
	})
}

func TestTest_isNotHungByACheckThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var executions atomic.Int64
		release := make(chan struct{})
		handler := mounted(gates.Required("index", gates.Func(func(context.Context) error {
			executions.Add(1)
			<-release
			return nil
		})))
		began := time.Now()
		status, body := askTest(t, handler)
		if took := time.Since(began); status != 503 || took > gates.DefaultTimeout+time.Second {
			t.Errorf("/test = %d after %s", status, took)
		}
		if detail := body.Tools["index"].Detail; detail != "no answer within 10s" {
			t.Errorf("detail = %q", detail)
		}

		<-time.After(time.Minute)
		began = time.Now()
		status, body = askTest(t, handler)
		if status != 503 || time.Since(began) > 0 || executions.Load() != 1 {
			t.Errorf("while it hangs /test = %d after %s with %d executions", status, time.Since(began), executions.Load())
		}
		if detail := body.Tools["index"].Detail; !strings.Contains(detail, "began 1m11s ago") {
			t.Errorf("detail = %q", detail)
		}

		close(release)
		synctest.Wait()
		<-time.After(gates.DefaultCacheFor)
		if status, _ = askTest(t, handler); status != 200 || executions.Load() != 2 {
			t.Errorf("after it returned /test = %d with %d executions", status, executions.Load())
		}
	})
}

func TestTest_countsAPanicAsAFailure(t *testing.T) {
	kinds := map[string]gates.Func{
		"panics":               func(context.Context) error { panic("token=abcdefgh") },
		"panics with an error": func(context.Context) error { panic(errors.New("deep inside")) },
		"exits":                func(context.Context) error { runtime.Goexit(); return nil },
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			status, body := askTest(t, mounted(gates.Required("index", kind)))
			told := body.Tools["index"]
			if status != 503 || told.Executable || !told.Present || strings.Contains(told.Detail, "abcdefgh") {
				t.Errorf("/test = %d, %+v", status, told)
			}
		})
	}
}

func TestTest_showsWhatADetailFuncFound(t *testing.T) {
	found := func(detail string, err error) gates.DetailFunc {
		return func(context.Context) (string, error) { return detail, err }
	}
	rows := []struct {
		kind   gates.DetailFunc
		works  bool
		detail string
	}{
		{found("3 documents, token=abcdefgh", nil), true, "3 documents, token=***"},
		{found("", nil), true, "check passed"},
		{found("3 documents", errors.New("broken")), false, "broken"},
		{nil, false, "not configured"},
	}
	for _, row := range rows {
		_, body := askTest(t, mounted(gates.Required("index", row.kind)))
		if told := body.Tools["index"]; told.Executable != row.works || told.Detail != row.detail {
			t.Errorf("/test tells %+v, want %v and %q", told, row.works, row.detail)
		}
	}
}

func TestTest_keepsACheckGoingWhenItsRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var executions int
		handler := mounted(gates.Required("index", gates.Func(func(ctx context.Context) error {
			executions++
			<-time.After(time.Second)
			return ctx.Err()
		})))
		ctx, hangUp := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/test", nil)
		if err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			handler.ServeHTTP(discard{}, request)
		}()
		synctest.Wait()
		hangUp()
		<-gone
		if status, body := askTest(t, handler); status != 200 || executions != 1 {
			t.Errorf("/test = %d with %d executions: %s", status, executions, body.Tools["index"].Detail)
		}
	})
}

// discard is where the answer to a client that has gone away goes.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
