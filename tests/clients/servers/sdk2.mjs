// A server of the official TypeScript SDK, second generation.
import { McpServer, ResourceTemplate, completable } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";
import { offer } from "./offer.mjs";

const server = new McpServer({ name: "sdk2", version: "1" }, { instructions: "Be typed." });
offer(server, "sdk2", { ResourceTemplate, completable, z, shape: (fields) => z.object(fields) });
await server.connect(new StdioServerTransport());
