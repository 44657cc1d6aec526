// What both servers in TypeScript offer.
export function offer(server, name, { ResourceTemplate, completable, z, shape }) {
  const text = (uri, said) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: said }] });
  server.registerTool("link", { description: "Links to a resource" }, () => ({
    content: [{ type: "resource_link", uri: `${name}://linked/1`, name: "linked" }],
  }));
  const tone = completable(z.string(), (typed) => ["calm", "cross"].filter((value) => value.startsWith(typed)));
  const argsSchema = shape({ code: z.string(), tone });
  server.registerPrompt("review", { description: "Reviews code", argsSchema }, ({ code }) => ({
    messages: [{ role: "user", content: { type: "text", text: `${name} reviews ${code}` } }],
  }));
  server.registerResource("notes", `${name}://notes`, { mimeType: "text/plain" }, (uri) => text(uri, `${name} notes`));
  const template = new ResourceTemplate(`${name}://linked/{number}`, { list: undefined });
  server.registerResource("linked", template, { mimeType: "text/plain" }, (uri, { number }) =>
    text(uri, `${name} linked ${number}`),
  );
}
