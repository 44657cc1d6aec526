// The official TypeScript client, first generation: knows the handshake only.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { person, serve, settings } from "./repl.mjs";

const client = new Client({ name: "sdk1", version: "1" }, { capabilities: settings.elicits ? { elicitation: {} } : {} });
if (settings.elicits) client.setRequestHandler(ElicitRequestSchema, ({ params }) => person.reply(params));
client.setNotificationHandler(ToolListChangedNotificationSchema, () => void person.changes++);

const transport = settings.url
  ? new StreamableHTTPClientTransport(new URL(settings.url))
  : new StdioClientTransport({ ...settings.server, stderr: "inherit" });
// The client tells only its transport what was negotiated.
let version;
const tell = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (negotiated) => {
  version = negotiated;
  tell?.(negotiated);
};
await client.connect(transport);
await serve(client, version, (params, options) => client.callTool(params, undefined, options));
