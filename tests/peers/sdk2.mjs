// The same server with the second generation of the official TypeScript library: sdk2.mjs TOOLS
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const run = promisify(execFile);
const inputSchema = z.object({ NAME: z.string().describe("Whom to greet") });
serveStdio(() => {
  const server = new McpServer({ name: "sdk2", version: "1" });
  for (let number = 0; number < Number(process.argv[2]); number++) {
    server.registerTool(
      number ? `hello_${number}` : "hello",
      { description: "Says hello to somebody", inputSchema },
      async ({ NAME }) => {
        const { stdout } = await run("bash", ["--noprofile", "--norc", "-c", 'echo hello "$1"', "_", NAME]);
        return { content: [{ type: "text", text: stdout }] };
      },
    );
  }
  return server;
});
