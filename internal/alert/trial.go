package alert

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Trial is what came of a test message to a receiver.
type Trial struct {
	Receiver string
	Protocol Protocol
	Status   int    // of the answer; 0 when there was none
	Err      error  // nil when it was taken; it holds no secret
	Hint     string // what to do about Err
}

// Try sends one message of the kind OfTest to every receiver, whatever kinds it
// wants, once and at the same time, and returns what came of each, in their order.
// Nothing is kept. It takes at most SendTimeout for each.
func Try(ctx context.Context, settings *Settings, resolve func(reference string) (string, error), now time.Time) []Trial {
	client := withoutRedirects(newClient())
	defer client.CloseIdleConnections()
	trials := make([]Trial, len(settings.Receivers))
	var sending sync.WaitGroup
	for i := range settings.Receivers {
		receiver := &settings.Receivers[i]
		trials[i] = Trial{Receiver: receiver.Name, Protocol: receiver.Protocol}
		sending.Go(func() {
			o := try(ctx, client, maker{receiver, settings.PublicURL, resolve}, now)
			trials[i].Status, trials[i].Err, trials[i].Hint = o.status, o.err, o.hint
		})
	}
	sending.Wait()
	return trials
}

func try(ctx context.Context, client *http.Client, to maker, now time.Time) outcome {
	id, err := uuid.NewV7()
	if err != nil {
		return outcome{err: err}
	}
	test := testAlert(now)
	test.ID = id.String()
	made, err := to.request([]pending{{alert: test}}, now)
	if err != nil {
		missing, _ := errors.AsType[unsent](err) // it always is one
		return outcome{err: err, hint: missing.hint()}
	}
	return post(ctx, client, made, now)
}

// testAlert is an alert that says of itself that it is a test.
func testAlert(now time.Time) Alert {
	const subject = "test"
	return Alert{
		Key: keyOf(OfTest, subject), Kind: OfTest, Subject: subject, State: Firing, Since: now, ChangedAt: now,
		Content: Content{Summary: "this is a test of the alerts of Countersign: nothing is wrong", Ended: "the test is over"},
	}
}
