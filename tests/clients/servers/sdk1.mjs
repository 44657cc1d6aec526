// A server of the official TypeScript SDK, first generation.
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { z } from "zod";
import { offer } from "./offer.mjs";

const server = new McpServer({ name: "sdk1", version: "1" }, { instructions: "Be typed." });
offer(server, "sdk1", { ResourceTemplate, completable, z, shape: (fields) => fields });
await server.connect(new StdioServerTransport());
