// Drives `countersign probe` as the client under test of the official
// conformance suite, which appends the address of its server to the command and
// says in the environment what the scenario is about.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const countersign = process.env.COUNTERSIGN;
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const url = process.argv.at(-1);

// probe returns the result of one probe and keeps the worst exit code.
let worst = 0;
function probe(only, args, environment = {}) {
  const ran = spawnSync(countersign, ["--json", "probe", "--only", only, ...args], {
    encoding: "utf8",
    env: { ...process.env, ...environment },
  });
  process.stderr.write(ran.stdout + ran.stderr);
  worst = Math.max(worst, ran.status ?? 2);
  return JSON.parse(ran.stdout);
}

const endpoint = ["--profile", "protocol", url];
const call = (name, args) =>
  probe("healthz,test,listTools", [...endpoint, "--force", "--call", name, "--arguments", JSON.stringify(args)]);

// pinned reads which issuer the server names, as a person would who registers
// it, and probes with that issuer pinned.
async function pinned() {
  const address = new URL(url);
  const metadata = await fetch(new URL("/.well-known/oauth-protected-resource" + address.pathname, address));
  const issuer = (await metadata.json()).authorization_servers[0];
  const folder = mkdtempSync(join(tmpdir(), "countersign-"));
  const file = join(folder, "countersign.yaml");
  const oauth = { issuer, client_id: context.client_id, client_secret: "env:CLIENT_SECRET" };
  const target = { kind: "mcp_server", profile: "protocol", url, credentials: { oauth } };
  writeFileSync(file, JSON.stringify({ components: { target } }, null, 1));
  probe("healthz,listTools", ["target", "--config", file], { CLIENT_SECRET: context.client_secret });
  rmSync(folder, { recursive: true });
}

switch (scenario) {
  case "auth/client-credentials-basic":
    await pinned();
    break;
  case "tools_call":
    call("add_numbers", { a: 5, b: 3 });
    break;
  case "http-invalid-tool-headers":
    call("valid_tool", { region: "us-west1", query: "x" });
    break;
  case "http-standard-headers":
    call(probe("healthz,listTools", endpoint).tools[0], {});
    break;
  case "http-custom-headers":
    for (const each of context.toolCalls) call(each.name, each.arguments);
    break;
  default:
    probe("healthz", endpoint);
}
process.exit(worst);
