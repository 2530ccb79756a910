// Usage: node client-v2.mjs CONFIG.json legacy|auto
// Does the quickstart with the official TypeScript client, 2.x.

import { readFileSync } from "node:fs";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { run } from "./quickstart.mjs";

await run(JSON.parse(readFileSync(process.argv[2], "utf8")), async (name, entry) => {
  const client = new Client({ name, version: "1.0.0" }, { versionNegotiation: { mode: process.argv[3] } });
  const transport = entry.url
    ? new StreamableHTTPClientTransport(new URL(entry.url))
    : new StdioClientTransport({ command: entry.command, args: entry.args, env: entry.env });
  await client.connect(transport);
  return { client, protocol: client.getNegotiatedProtocolVersion() };
});
