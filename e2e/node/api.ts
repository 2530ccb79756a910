// The quickstart by a client that a public generator made of the server's OpenAPI
// document; ./client is what it made. Says what it saw as JSON.
import { claimTask, createTask, decideTask, getComponent, getTask, listComponents, listRuns, listTasks, preflightRun, probeComponent, streamEvents } from "./client";
import type { ComponentStatus, Problem } from "./client";
import { client } from "./client/client.gen";

declare const process: { argv: string[]; stdout: { write(text: string): void } };

client.setConfig({ baseUrl: process.argv[2] });

// given is the answer of a call that must succeed.
function given<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

// refusal is the problem of a call that must not.
function refusal(answer: { data?: unknown; error?: Problem; response?: Response }): Problem & { type: string } {
  if (answer.error === undefined) throw new Error(`not refused: ${JSON.stringify(answer.data)}`);
  if (answer.response?.headers.get("Content-Type") !== "application/problem+json") throw new Error("the refusal is no problem");
  return answer.error;
}

// cut is an answer whose stream breaks after its first event.
function cut(answer: Response): Response {
  const reader = answer.body!.getReader();
  let told = "";
  return new Response(new ReadableStream({
    async pull(controller) {
      if (told.includes("event: ready")) {
        await reader.cancel();
        throw new Error("the stream is broken");
      }
      const { value } = await reader.read();
      told += new TextDecoder().decode(value);
      controller.enqueue(value);
    },
  }, { highWaterMark: 0 }), answer);
}

// resume loses a stream before anything happened, and returns what it is told when it
// has come back.
async function resume(): Promise<string> {
  const leaving = new AbortController();
  let asked = 0;
  const { stream } = await streamEvents({
    query: { kind: "task" }, signal: leaving.signal,
    fetch: async (request: RequestInfo | URL) => {
      if (asked++ === 0) return cut(await fetch(request));
      await createTask({ body: { title: "Happen while nobody listens", acceptance_criteria: ["it did"], created_by: "planner" } });
      return fetch(request);
    },
  });
  for await (const event of stream) {
    const told = JSON.stringify(event);
    if (!told.includes("task_id")) continue;
    leaving.abort();
    return told;
  }
  return "";
}

async function main() {
  const leaving = new AbortController();
  const { stream } = await streamEvents({ signal: leaving.signal });
  const events: string[] = [];
  const listening = (async () => {
    for await (const event of stream) {
      events.push(JSON.stringify(event));
      if (events.filter((each) => each.includes("task_id")).length === 3) break;
    }
  })();

  const created = given(await createTask({
    body: { title: "Answer GET /healthz", acceptance_criteria: ["GET /healthz returns 200"], created_by: "planner" },
  }));
  const path = { task_id: created.task_id };
  given(await claimTask({ path, body: { agent_id: "prover", evidence: "curl says 200" } }));
  const refused = refusal(await decideTask({ path, body: { verifier_agent_id: "prover", verdict: "verified", notes: "I am sure." } }));
  given(await decideTask({ path, body: { verifier_agent_id: "verifier", verdict: "verified", notes: "Called it: 200." } }));
  const missing = refusal(await getTask({ path: { task_id: "00000000-0000-7000-8000-000000000000" } }));
  const waiting = given(await listTasks({ query: { status: "claimed", order: "oldest", limit: 1 } }));
  const next = given(await listTasks({ query: { status: "claimed", order: "oldest", limit: 1, cursor: waiting.next_cursor } }));
  const task = given(await getTask({ path }));

  const statuses: Record<string, ComponentStatus> = {};
  for (const each of given(await listComponents({ query: { limit: 100 } })).components) statuses[each.name] = each.status;
  const sast = given(await getComponent({ path: { name: "sast" } }));
  const probed = given(await probeComponent({ path: { name: "writer" } }));
  const release = given(await preflightRun({ path: { run: "release" } }));
  const nightly = given(await preflightRun({ path: { run: "nightly" } }));
  const runs = given(await listRuns()).runs.map((each) => each.run);

  await listening;
  leaving.abort();
  const resumed = await resume();

  process.stdout.write(JSON.stringify({
    status: task.status, verifiedBy: task.verified_by, refused: { status: refused.status, code: refused.code, detail: refused.detail }, missing: missing.code,
    pages: [waiting.tasks[0]?.title, next.tasks[0]?.title], statuses, causes: sast.causes, passed: probed.passed, runs,
    release: release.allowed, nightly: nightly.allowed, ticket: nightly.ticket !== undefined, events, resumed,
  }));
}

void main();
