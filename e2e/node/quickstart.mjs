// The quickstart, call by call, whatever client makes the calls. What every
// client relies on is checked here; the rest is printed for the test to compare.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const calls = JSON.parse(readFileSync(new URL("../testdata/quickstart.json", import.meta.url), "utf8"));

// fill puts the ids that earlier steps returned into the arguments of a call.
function fill(args, steps) {
  const text = JSON.stringify(args).replace(/<task_id of step (\d+)>/g, (_, number) => steps[number - 1].result.task_id);
  return JSON.parse(text);
}

// read gives the object that a result carries.
function read(tool, result) {
  assert.equal(result.content.length, 1, `${tool}: one content`);
  assert.equal(result.content[0].type, "text", `${tool}: a text content`);
  const object = JSON.parse(result.content[0].text);
  if (result.isError) {
    assert.equal(result.structuredContent, undefined, `${tool}: an error has no structuredContent`);
  } else {
    assert.deepEqual(result.structuredContent, object, `${tool}: the text is the structuredContent`);
  }
  return object;
}

// run connects one client for each server of a client configuration, makes the
// calls and prints what happened. connect(name, entry) gives a connected client
// and the protocol version that it speaks.
export async function run(config, connect) {
  const clients = {};
  try {
    for (const [name, entry] of Object.entries(config.mcpServers)) {
      clients[name] = await connect(name, entry);
    }
    const { client, protocol } = clients.devops;
    const { tools } = await client.listTools();
    const steps = [];
    for (const { agent, tool, arguments: args } of calls) {
      const result = await clients[agent].client.callTool({ name: tool, arguments: fill(args, steps) });
      steps.push({ agent, tool, isError: result.isError === true, result: read(tool, result) });
    }
    const names = tools.map((tool) => tool.name).sort();
    console.log(JSON.stringify({ protocol, server: client.getServerVersion()?.name, tools: names, steps }));
  } finally {
    for (const { client } of Object.values(clients)) {
      await client.close();
    }
  }
}
