// A host of MCP Apps in a browser, as the specification has it: the page of the host, and on another origin the sandbox with the
// page of the server. It runs in the browser.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

window.show = async ({ sandbox, html, input, result, theme }) => {
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts allow-same-origin";
  const bridge = new AppBridge(null, { name: "tests", version: "1" }, { serverTools: {} }, { hostContext: { theme } });
  const ready = new Promise((done) => bridge.addEventListener("sandboxready", done));
  const initialized = new Promise((done) => bridge.addEventListener("initialized", done));
  const sized = new Promise((done) => bridge.addEventListener("sizechange", done));
  bridge.oncalltool = (params) => window.callTool(params);
  document.body.replaceChildren(frame);
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = sandbox;
  await ready;
  await bridge.sendSandboxResourceReady({ html });
  await initialized;
  await bridge.sendToolInput({ arguments: input });
  if (result) await bridge.sendToolResult(result);
  const { height } = await sized;
  Object.assign(frame.style, { width: "100%", height: "600px", border: 0 });
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  window.teardown = () => bridge.teardownResource({});
  return height;
};
