// Usage: node server-v2.mjs stdio|PORT [reject]
// A server with the official TypeScript SDK, 2.x. It speaks both eras, or the modern
// one alone (reject). Over HTTP it also answers the two pages of docs/WIRE.md.

import { createServer } from "node:http";

import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const identity = { name: "echo", version: "1.0.0" };
const [where, legacy] = process.argv.slice(2);

function echoServer() {
  const server = new McpServer(identity);
  server.registerTool(
    "echo",
    {
      description: "Says what it is told.",
      inputSchema: z.object({ text: z.string().default("hello") }),
      annotations: { readOnlyHint: true },
    },
    async ({ text }) => ({ content: [{ type: "text", text }] }),
  );
  return server;
}

function listen(port) {
  const mcp = toNodeHandler(createMcpHandler(echoServer, { legacy }));
  const pages = { "/healthz": { status: "ok" }, "/test": { ok: true, detail: "nothing but itself is needed" } };
  const server = createServer((request, response) => {
    if (request.url === "/mcp") {
      return mcp(request, response);
    }
    const page = pages[request.url];
    response.writeHead(page ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(page ?? { error: "no such page" }));
  });
  server.listen(port, "127.0.0.1");
}

if (where === "stdio") {
  serveStdio(echoServer, { legacy });
} else {
  listen(Number(where));
}
