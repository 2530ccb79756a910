package mcpwire

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/countersign-dev/countersign/internal/registry"
)

// stdio carries messages over the standard streams of a process that it starts.
// A process serves one era: fresh starts another.
type stdio struct {
	*conversation

	command  Command
	recorder *Recorder
	process  *Process
	failed   error    // why no process could be started
	said     *Failure // the last error that named no request
}

func (s *stdio) fresh(ctx context.Context) error {
	s.stop(ctx)
	s.process, s.failed = StartProcess(ctx, s.command)
	if s.process != nil {
		s.report.ProcessesStarted++
	}
	return s.failed
}

func (s *stdio) ask(ctx context.Context, request outgoing) (message, int, error) {
	if err := s.tell(ctx, request); err != nil {
		return message{}, 0, err
	}
	s.said = nil
	for {
		received, err := s.process.Receive(ctx)
		if err != nil {
			return message{}, 0, s.unheard(err)
		}
		s.answered("the process answers")
		s.recorder.Received(received.encode())
		if s.left -= int64(len(received.Result)); s.left < 0 {
			return message{}, 0, tooLarge(MaxBytes)
		}
		got := message{id: received.ID, method: received.Method, result: received.Result}
		if received.Error != nil {
			got.err = decodeError(received.Error)
		}
		switch {
		case got.answers(*request.ID):
			return got, 0, nil
		case got.method == request.Method && string(got.id) == strconv.FormatInt(*request.ID, 10):
			return message{}, 0, s.unusable("it echoes what it is sent; is this an MCP server?")
		case got.isAnonymousError():
			s.said = &Failure{Cause: s.phaseCause(), Detail: got.err.detail()}
		case got.method != "" && got.id != nil:
			if answer, isDue := s.replyTo(got); isDue {
				_ = s.tell(ctx, answer) // a process that is gone shows at the next message
			}
		}
	}
}

// unheard prefers an error that names no request to the silence that followed.
func (s *stdio) unheard(err error) error {
	s.recorder.Said(s.process.Stderr())
	if failure, ok := errors.AsType[*Failure](err); ok && failure.Cause == registry.Timeout && s.said != nil {
		return s.said
	}
	return err
}

func (s *stdio) tell(ctx context.Context, message outgoing) error {
	body, err := message.encode()
	if err != nil {
		return err
	}
	s.recorder.Sent(body)
	return s.process.Send(ctx, body)
}

// encode is the message as it was received, apart from what it holds beside the
// members of the protocol.
func (m Message) encode() []byte {
	members := map[string]any{"jsonrpc": "2.0"}
	for name, raw := range map[string]json.RawMessage{"id": m.ID, "params": m.Params, "result": m.Result, "error": m.Error} {
		if raw != nil {
			members[name] = raw
		}
	}
	if m.Method != "" {
		members["method"] = m.Method
	}
	body, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return body
}

// ended tells of a process that has ended by itself. One that was not read any further
// dies of that, sooner or later, and ran until then.
func (s *stdio) ended() error {
	if s.process == nil {
		return s.failed
	}
	select {
	case <-s.process.Exited():
		if s.process.flooded.Load() {
			return nil
		}
		return s.process.ended()
	default:
		return nil
	}
}

func (s *stdio) close(ctx context.Context) { s.stop(ctx) }

// stop ends the process: in its own time, or in CloseTimeout when the probe was
// interrupted.
func (s *stdio) stop(ctx context.Context) {
	if s.process == nil {
		return
	}
	patience := ProcessCloseTimeout
	if errors.Is(ctx.Err(), context.Canceled) {
		patience = CloseTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	s.process.Close(ctx)
	select {
	case <-s.process.Exited():
		s.report.ProcessesEnded++
	default:
	}
	s.recorder.Said(s.process.Stderr())
	for _, warning := range s.process.Warnings() {
		if !slices.Contains(s.report.Warnings, warning) {
			s.warn("%s", warning)
		}
	}
	s.process = nil
}
