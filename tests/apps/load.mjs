// Packages that lie elsewhere.
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

export const NODE_MODULES = path.resolve(process.env.NODE_MODULES);
export const require = createRequire(path.join(NODE_MODULES, "x.js"));
export const load = (name) => import(pathToFileURL(require.resolve(name)));
