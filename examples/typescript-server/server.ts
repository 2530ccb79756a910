// An MCP server over stdio that searches a folder of Markdown notes.
// Usage: node server.ts FOLDER   (Node 22.18 or newer, which runs TypeScript as it is)

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

// What one search may give, so that no answer grows without end.
const maxMatches = 100;
const noteName = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;

const folder = process.argv[2];
if (folder === undefined) {
  console.error("usage: node server.ts FOLDER");
  process.exit(2);
}

// noteNames lists the notes, in order. It fails when the folder is not there.
async function noteNames(): Promise<string[]> {
  const files = await readdir(folder);
  return files
    .filter((file) => file.endsWith(".md"))
    .map((file) => file.slice(0, -".md".length))
    .filter((name) => noteName.test(name))
    .sort();
}

// readNote refuses names that lead out of the folder.
async function readNote(name: string): Promise<string> {
  if (!noteName.test(name)) {
    throw new Error(`${JSON.stringify(name)} is no name of a note`);
  }
  return readFile(join(folder, `${name}.md`), "utf8");
}

const server = new McpServer({ name: "notes", version: "1.0.0" });

server.registerTool(
  "search",
  {
    description: "Finds the lines of the notes that hold a text, whatever its case.",
    inputSchema: { text: z.string().min(1).max(200) },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async ({ text }, { signal, _meta, sendNotification }) => {
    const names = await noteNames();
    const matches: string[] = [];
    for (const [index, name] of names.entries()) {
      signal.throwIfAborted();
      for (const line of (await readNote(name)).split("\n")) {
        if (matches.length < maxMatches && line.toLowerCase().includes(text.toLowerCase())) {
          matches.push(`${name}: ${line.trim()}`);
        }
      }
      const progressToken = _meta?.progressToken;
      if (progressToken !== undefined) {
        const params = { progressToken, progress: index + 1, total: names.length, message: name };
        await sendNotification({ method: "notifications/progress", params });
      }
    }
    return { content: [{ type: "text", text: matches.join("\n") || "No note holds this text." }] };
  },
);

server.registerResource(
  "note",
  new ResourceTemplate("note:///{name}", {
    list: async () => ({
      resources: (await noteNames()).map((name) => ({ name, uri: `note:///${name}`, mimeType: "text/markdown" })),
    }),
  }),
  { description: "One note.", mimeType: "text/markdown" },
  async (uri, { name }) => ({
    contents: [{ uri: uri.href, mimeType: "text/markdown", text: await readNote(String(name)) }],
  }),
);

server.registerPrompt(
  "explain",
  { description: "Asks for an explanation of one note.", argsSchema: { name: z.string() } },
  async ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Explain this note:\n\n${await readNote(name)}` } }],
  }),
);

await server.connect(new StdioServerTransport());
