// Usage: node client-v1.mjs CONFIG.json
// Does the quickstart with the official TypeScript SDK, 1.x.

import { readFileSync } from "node:fs";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { run } from "./quickstart.mjs";

await run(JSON.parse(readFileSync(process.argv[2], "utf8")), async (name, entry) => {
  const client = new Client({ name, version: "1.0.0" });
  const transport = entry.url
    ? new StreamableHTTPClientTransport(new URL(entry.url))
    : new StdioClientTransport({ command: entry.command, args: entry.args, env: entry.env });
  let protocol = "";
  transport.setProtocolVersion = ((inherited) => (version) => {
    protocol = version;
    inherited?.call(transport, version);
  })(transport.setProtocolVersion);
  await client.connect(transport);
  return { client, protocol };
});
