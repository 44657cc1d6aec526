// The official TypeScript client, second generation.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { person, serve, settings } from "./repl.mjs";

const client = new Client(
  { name: "sdk2", version: "1" },
  {
    capabilities: settings.elicits ? { elicitation: {} } : {},
    versionNegotiation: { mode: settings.era === "legacy" ? "legacy" : "auto" },
    listChanged: { tools: { autoRefresh: false, onChanged: () => person.changes++ } },
  },
);
if (settings.elicits) client.setRequestHandler("elicitation/create", ({ params }) => person.reply(params));
await client.connect(
  settings.url
    ? new StreamableHTTPClientTransport(new URL(settings.url))
    : new StdioClientTransport({ ...settings.server, stderr: "inherit" }),
);
await serve(client, client.getNegotiatedProtocolVersion(), (params, options) => client.callTool(params, options));
