package alert_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
	"github.com/countersign-dev/countersign/internal/task"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// patience bounds the wait for what must happen on a real clock.
const patience = time.Minute

// until waits for what must become true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %v: %s", patience, what)
		case <-again.C:
		}
	}
}

func onBoth(t *testing.T, test func(t *testing.T, location string)) {
	t.Helper()
	for name, fresh := range map[string]storetest.Fresh{"SQLite": storetest.SQLite, "PostgreSQL": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

func opened(t *testing.T, location string) *store.Database {
	t.Helper()
	db, err := store.Open(t.Context(), location, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// components are those that are registered, for ever.
type components struct{ registered *registry.Registered }

func (c components) Registered() *registry.Registered { return c.registered }

// service is a receiver on a real network, with a double's memory.
func service(t *testing.T, double *endpoint) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Host = r.Host
		answer, err := double.RoundTrip(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer answer.Body.Close()
		maps.Copy(w.Header(), answer.Header)
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const signing = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

// onDatabase starts an alerter on a database of its own process, as far as one
// process can have two.
func onDatabase(t *testing.T, location, url string) *scene {
	t.Helper()
	db := opened(t, location)
	s := &scene{observer: &observer{}, log: &buffer{}}
	s.Alerter = alert.New(alert.Options{
		Name: "test", URL: "http://127.0.0.1:8484", Store: db.Alerts(), Feed: db, Registry: components{registeredOf("asm", "other")}, History: db,
		Settings: alert.Settings{ClaimWaits: time.Millisecond, Receivers: []alert.Receiver{{
			Name: "ops", Protocol: alert.Webhook, URL: registry.SecretText(url), Signing: registry.SecretAt("env:HOOK"),
		}}},
		Resolve:  func(string) (string, error) { return signing, nil },
		Observer: s.observer, Log: slog.New(slog.NewTextHandler(s.log, nil)),
	})
	s.start(t)
	return s
}

func mustRecord(t *testing.T, db *store.Database, name string, passed bool) {
	t.Helper()
	if err := db.Record(t.Context(), nil, []registry.Record{recordOf(t, registeredOf(name), name, passed, time.Now())}); err != nil {
		t.Fatal(err)
	}
}

func counted(words []string) map[string]int {
	counts := map[string]int{}
	for _, word := range words {
		counts[word]++
	}
	return counts
}

func mustVerify(t *testing.T, all []attempt) {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(signing)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if err := verifier.Verify([]byte(one.body), one.header); err != nil || one.header.Get("webhook-id") != one.message.ID {
			t.Errorf("%s is not signed as it should be: %v", one.word(), err)
		}
	}
}

// TestStore_twoProcessesTellEachAlertOnceAlsoWhenOneIsReplaced drives all three
// kinds of alert from what is really stored.
func TestStore_twoProcessesTellEachAlertOnceAlsoWhenOneIsReplaced(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, location string) {
		db, to := opened(t, location), &endpoint{}
		url := service(t, to)
		mustRecord(t, db, "asm", true)
		first, second := onDatabase(t, location, url), onDatabase(t, location, url)
		until(t, "one of them alerts", func() bool { return first.observer.isAlerting() || second.observer.isAlerting() })
		mustRecord(t, db, "asm", false)
		waiting := claimedTask(t, db)
		kept := preflightOf("asm-eu")
		if err := db.KeepPreflight(t.Context(), time.Now(), &kept); err != nil {
			t.Fatal(err)
		}
		until(t, "all three are told", func() bool { return len(to.told()) == 3 })
		if first.observer.isAlerting() && second.observer.isAlerting() {
			t.Error("both alert")
		}
		holder, rest := first, second
		if second.observer.isAlerting() {
			holder, rest = second, first
		}
		holder.stop()
		until(t, "the other takes over", rest.observer.isAlerting)
		third := onDatabase(t, location, url)
		mustRecord(t, db, "asm", true)
		decide(t, db, waiting)
		kept = preflightOf("asm")
		if err := db.KeepPreflight(t.Context(), time.Now(), &kept); err != nil {
			t.Fatal(err)
		}
		until(t, "all three have ended", func() bool { return len(to.told()) == 6 })
		rest.stop()
		until(t, "the third takes over", third.observer.isAlerting)
		mustRecord(t, db, "other", false)
		until(t, "it tells what is new", func() bool { return len(to.told()) == 7 })
		id := string(waiting)
		want := map[string]int{
			"component:asm firing": 1, "component:asm resolved": 1, "run:nightly firing": 1, "run:nightly resolved": 1,
			"task:" + id + " firing": 1, "task:" + id + " resolved": 1, "component:other firing": 1,
		}
		if diff := cmp.Diff(want, counted(to.told())); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		mustVerify(t, to.attempts())
	})
}

// TestStore_receiversThatFailAreToldInTheEnd has a receiver drop connections,
// answer 429 and 500, and take what it is told only after the process was replaced.
func TestStore_receiversThatFailAreToldInTheEnd(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, location string) {
		db, to := opened(t, location), &endpoint{}
		var mu sync.Mutex
		made := 0
		to.answers(func(context.Context, attempt) (int, http.Header, error) {
			mu.Lock()
			defer mu.Unlock()
			made++
			switch made {
			case 1:
				return http.StatusTooManyRequests, http.Header{"Retry-After": {"1"}}, nil
			case 2:
				return http.StatusInternalServerError, nil, nil
			}
			return 0, nil, fmt.Errorf("dropped")
		})
		first := onDatabase(t, location, service(t, to))
		until(t, "it alerts", first.observer.isAlerting)
		mustRecord(t, db, "asm", false)
		until(t, "it has tried three times", func() bool { return len(to.attempts()) >= 3 })
		first.stop()
		var attempts int
		kept, err := db.Alerts().Load(t.Context())
		if err != nil || len(kept.Deliveries) != 1 {
			t.Fatalf("kept %+v, %v", kept, err)
		}
		if attempts = kept.Deliveries[0].Attempts; attempts < 3 || !kept.Deliveries[0].Next.After(kept.Alerts[0].ChangedAt) {
			t.Errorf("the schedule is not kept: %+v", kept.Deliveries[0])
		}
		to.works()
		onDatabase(t, location, service(t, to))
		until(t, "it is told", func() bool { return len(to.told()) == 1 })
		all := to.attempts()
		if len(slices.Compact(idsOf(all))) != 1 {
			t.Errorf("the attempts have the ids %v", idsOf(all))
		}
		if next := all[1].at.Sub(all[0].at); next < time.Second {
			t.Errorf("Retry-After: 1 was answered by an attempt after %v", next)
		}
		mustVerify(t, all)
	})
}

func idsOf(all []attempt) (ids []string) {
	for _, one := range all {
		ids = append(ids, one.message.ID)
	}
	return ids
}

// claimedTask makes a task and its claim.
func claimedTask(t *testing.T, db *store.Database) task.ID {
	t.Helper()
	agent := "alice"
	gate, caller := task.NewGate(db, time.Now), task.Caller{Principal: task.Principal{Kind: "process", ID: "test"}}
	made, err := gate.Create(t.Context(), caller, task.CreateRequest{Title: "t", AcceptanceCriteria: []string{"c"}, CreatedBy: &agent})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gate.Claim(t.Context(), caller, task.ClaimRequest{AgentID: &agent, TaskID: string(made.TaskID), Evidence: "done"}); err != nil {
		t.Fatal(err)
	}
	return made.TaskID
}

func decide(t *testing.T, db *store.Database, id task.ID) {
	t.Helper()
	agent := "bob"
	caller := task.Caller{Principal: task.Principal{Kind: "process", ID: "test"}}
	_, err := task.NewGate(db, time.Now).Verify(t.Context(), caller, task.VerifyRequest{VerifierAgentID: &agent, TaskID: string(id), Verdict: "verified"})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLog_holdsNoSecretWhateverReceiversAnswer(t *testing.T) {
	t.Parallel()
	const hidden = "Tr0ub4dor-and-3"
	location := storetest.SQLite(t)
	db := opened(t, location)
	secrets := map[string]string{"env:HOOK": signing, "env:TOKEN": "Bearer " + hidden, "env:PASSWORD": hidden}
	to := &endpoint{}
	answers := 0
	var mu sync.Mutex
	to.answers(func(_ context.Context, got attempt) (int, http.Header, error) {
		mu.Lock()
		defer mu.Unlock()
		answers++
		echo := http.Header{"Location": {"http://127.0.0.1/" + got.header.Get("Authorization")}, "X-Echo": {got.path}}
		switch answers % 4 {
		case 0:
			return http.StatusUnauthorized, echo, nil
		case 1:
			return http.StatusTooManyRequests, echo, nil
		case 2:
			return http.StatusFound, echo, nil
		}
		return 0, nil, fmt.Errorf("dropped")
	})
	url := service(t, to)
	settings := alert.Settings{Receivers: []alert.Receiver{
		{
			Name: "ops", Protocol: alert.Webhook, URL: registry.SecretText(url + "/services/" + hidden), Signing: registry.SecretAt("env:HOOK"),
			Headers: map[string]registry.Secret{"Authorization": registry.SecretAt("env:TOKEN")},
		},
		{Name: "am", Protocol: alert.Alertmanager, URL: registry.SecretText(url + "/" + hidden), Username: registry.SecretText("u"), Password: registry.SecretAt("env:PASSWORD")},
		{Name: "gone", Protocol: alert.Webhook, URL: registry.SecretText("http://127.0.0.1:1/services/" + hidden)},
		{Name: "nowhere", Protocol: alert.Webhook, URL: registry.SecretText("http://nowhere.invalid/services/" + hidden)},
		{Name: "unset", Protocol: alert.Webhook, URL: registry.SecretAt("env:UNSET")},
	}}
	s := &scene{observer: &observer{}, log: &buffer{}}
	s.Alerter = alert.New(alert.Options{
		Name: "test", Store: db.Alerts(), Feed: db, Registry: components{registeredOf("asm", "other")}, History: db, Settings: settings, Observer: s.observer,
		Resolve: func(reference string) (string, error) {
			if text, is := secrets[reference]; is {
				return text, nil
			}
			return "", fmt.Errorf("the secret at %s cannot be had", reference)
		},
		Log: slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	s.start(t)
	mustRecord(t, db, "asm", false)
	mustRecord(t, db, "other", false)
	until(t, "every receiver has failed", func() bool {
		failing := 0
		for _, r := range s.ReceiverStates() {
			if r.Failures > 0 {
				failing++
			}
		}
		return failing == len(settings.Receivers) && len(to.attempts()) >= 8
	})
	s.stop()
	said := s.log.String() + fmt.Sprintf("%+v %+v", s.ReceiverStates(), settings)
	for _, secret := range []string{hidden, signing, strings.TrimPrefix(signing, "whsec_"), "Tr0ub4dor"} {
		if strings.Contains(said, secret) {
			t.Errorf("%s is repeated in\n%s", secret, said)
		}
	}
	if !strings.Contains(said, "the secret at env:UNSET cannot be had") {
		t.Errorf("it is not told which secret is missing:\n%s", said)
	}
}
