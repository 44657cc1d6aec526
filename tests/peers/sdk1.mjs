// The same server with the first generation of the official TypeScript library: sdk1.mjs TOOLS
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const run = promisify(execFile);
const server = new McpServer({ name: "sdk1", version: "1" });
const config = { description: "Says hello to somebody", inputSchema: { NAME: z.string().describe("Whom to greet") } };
for (let number = 0; number < Number(process.argv[2]); number++) {
  server.registerTool(number ? `hello_${number}` : "hello", config, async ({ NAME }) => {
    const { stdout } = await run("bash", ["--noprofile", "--norc", "-c", 'echo hello "$1"', "_", NAME]);
    return { content: [{ type: "text", text: stdout }] };
  });
}
await server.connect(new StdioServerTransport());
