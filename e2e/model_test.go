//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// canaryKey is a key that must come back nowhere.
const canaryKey = "sk-canary-81d0c7b3e94f"

// someModels are four models behind one real llama.cpp: see e2e/node/llama.mjs for
// what of them is real. The daily budget of meagre is for two probes.
const someModels = `
components:
  vectors: {kind: model, provider: openai, base_url: "%[1]s/v1", model: noise, mode: embedding, dimensions: 64, credentials: {api_key: env:MODEL_KEY}}
  order:   {kind: model, provider: openai, base_url: "%[1]s/v1", model: noise, mode: rerank}
  adder:   {kind: model, provider: openai, base_url: "%[1]s/v1", model: sums, mode: chat}
  babbler: {kind: model, provider: openai, base_url: "%[1]s/v1", model: noise, mode: chat}
  meagre:  {kind: model, provider: openai, base_url: "%[1]s/v1", model: sums, mode: chat, daily_token_budget: 200}
  longer:  {kind: model, provider: openai, base_url: "%[1]s/v1", model: noise, mode: embedding, dimensions: 65}
slots:
  index:  {primary: vectors}
  ranks:  {primary: order}
  author: {primary: babbler, fallbacks: [adder]}
  talk:   {primary: babbler}
runs:
  nightly: {slots: {index: required, ranks: required, author: required}}
  chatty:  {slots: {talk: required}}
`

// TestModels_ofARealLlamaCpp probes real inference: a model of random weights, which
// a script of the repository writes here and now, computes real vectors and real
// tokens. What it cannot do, it is not passed for: to none of the 1521 questions that
// a probe may ask has it said the right number.
func TestModels_ofARealLlamaCpp(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Logf("the package with llama.cpp is for amd64, so on %s no model is probed", runtime.GOARCH)
		return
	}
	folder := t.TempDir()
	env := environment(t, "MODEL_KEY="+canaryKey)
	file := filepath.Join(folder, "noise.gguf")
	if made := run(t, folder, env, nodeCommand(t, driver(t, "make-model.mjs"), file)...); made.code != 0 {
		t.Fatalf("the model was not written: %+v", made)
	}
	nodePackage(t, "@node-llama-cpp/linux-x64/package.json")
	server := start(t, folder, env, nodeCommand(t, driver(t, "llama.mjs"), file, "0")...)
	configure(t, folder, fmt.Sprintf(someModels, server.await(t, `listening on (http://\S+)`)[1]))
	database := filepath.Join(folder, "c.db")
	probed := func(name, want string) {
		t.Helper()
		ran := run(t, folder, env, binary(), "probe", name, "--db", database, "--json")
		var result struct {
			Passed bool
			Invoke struct{ Cause, Detail string }
			Tokens struct{ Input, Output int }
		}
		if err := json.Unmarshal([]byte(ran.stdout), &result); err != nil {
			t.Fatalf("%s: %v: %+v", name, err, ran)
		}
		if result.Invoke.Cause != want || result.Passed != (want == "") || (ran.code == 0) != result.Passed {
			t.Errorf("%s: exit %d with %q (%s), want %q", name, ran.code, result.Invoke.Cause, result.Invoke.Detail, want)
		}
		if want == "" && result.Tokens.Input == 0 || strings.Contains(ran.stdout+ran.stderr, canaryKey[:10]) {
			t.Errorf("%s: %s%s", name, ran.stdout, ran.stderr)
		}
	}
	probed("vectors", "")
	probed("order", "")
	probed("adder", "")
	probed("babbler", "canary_failed")
	probed("longer", "wrong_vector")
	for _, want := range []string{"", "", "budget"} { // 48 tokens each, of 200; a request is taken to need 128
		probed("meagre", want)
	}
	if ran := run(t, folder, env, binary(), "component", "list", "--db", database); !strings.Contains(ran.stdout, "unknown") || ran.code != 0 {
		t.Errorf("a spent budget is not shown: %+v", ran)
	}
	if ran := run(t, folder, env, binary(), "preflight", "nightly", "--db", database); ran.code != 0 || !strings.Contains(ran.stdout, "adder") {
		t.Errorf("the run with a fallback: %+v", ran)
	}
	if ran := run(t, folder, env, binary(), "preflight", "chatty", "--db", database); ran.code != 1 || !strings.Contains(ran.stdout, "canary_failed") {
		t.Errorf("the run that nothing fills: %+v", ran)
	}
}
