// Usage: node llama.mjs MODEL_FILE PORT
// A server in the manner of OpenAI's API around llama.cpp. What is real: the model
// file, its tokenizer, every forward pass, the counts of tokens, the vectors. What is
// not: the model "sums" has its output held to the right sum by a grammar, since
// random weights cannot add; llama.cpp still evaluates the prompt and samples each
// token, among those that the grammar leaves. The model "noise" is free to say what
// it will. A rerank scores by the cosine of two embeddings.

import { createServer } from "node:http";

import { getLlama, LlamaCompletion } from "node-llama-cpp";

const [file, port] = process.argv.slice(2);
// One thread: llama.cpp's threads wait for each other in busy loops, which takes
// seconds for a token where other tests have the processors.
const llama = await getLlama({ build: "never", gpu: false, skipDownload: true, logLevel: "error", maxThreads: 1 });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({ contextSize: 512, threads: 1 });
const embeddings = await model.createEmbeddingContext({ contextSize: 256, threads: 1 });
const sequence = context.getSequence();
const completion = new LlamaCompletion({ contextSequence: sequence });

async function chat({ model: name, messages, max_tokens: limit }) {
  const prompt = messages.map(({ content }) => content).join("\n");
  const sum = /(\d+) \+ (\d+)/.exec(prompt);
  const held = name === "sums" && sum;
  const grammar = held ? await llama.createGrammar({ grammar: `root ::= "${Number(sum[1]) + Number(sum[2])}"` }) : undefined;
  await sequence.clearHistory();
  const before = sequence.tokenMeter.getState();
  const { response, metadata } = await completion.generateCompletionWithMeta(prompt, { maxTokens: limit, grammar });
  const used = sequence.tokenMeter.diff(before);
  return {
    object: "chat.completion",
    model: name,
    choices: [{ index: 0, message: { role: "assistant", content: response }, finish_reason: metadata.stopReason === "maxTokens" ? "length" : "stop" }],
    usage: usage(used.usedInputTokens, used.usedOutputTokens),
  };
}

function usage(input, output) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

async function vectorOf(text) {
  const { vector } = await embeddings.getEmbeddingFor(text);
  return vector;
}

async function embed({ model: name, input }) {
  return {
    object: "list",
    model: name,
    data: [{ object: "embedding", index: 0, embedding: await vectorOf(input) }],
    usage: usage(model.tokenize(input).length, 0),
  };
}

async function rerank({ model: name, query, documents }) {
  const asked = await vectorOf(query);
  const results = [];
  for (const [index, document] of documents.entries()) {
    results.push({ index, relevance_score: cosine(asked, await vectorOf(document)) });
  }
  results.sort((one, other) => other.relevance_score - one.relevance_score);
  return { model: name, results, usage: { total_tokens: model.tokenize([query, ...documents].join(" ")).length } };
}

function cosine(one, other) {
  const dot = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}

const routes = { "/v1/chat/completions": chat, "/v1/embeddings": embed, "/v1/rerank": rerank };
let turn = Promise.resolve(); // one request at a time has the context

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) {
    parts.push(part);
  }
  const answer = (status, body) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  const route = routes[request.url];
  if (!route) {
    return answer(404, { error: { message: "no such route" } });
  }
  turn = turn.then(async () => {
    try {
      answer(200, await route(JSON.parse(Buffer.concat(parts).toString("utf8"))));
    } catch (failure) {
      answer(500, { error: { message: String(failure) } });
    }
  });
});
server.listen(Number(port), "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
