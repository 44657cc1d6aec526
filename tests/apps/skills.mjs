// Skills with the client of the extension, which verifies sizes, digests and front matter as a host must.
import fs from "node:fs";
import path from "node:path";
import { client, cycod, equal, holds, ran, scratch } from "./place.mjs";
import { NODE_MODULES } from "./load.mjs";

// The package can only be imported, so it is found by its path.
const skills = await import(path.join(NODE_MODULES, "@olaservo/ext-skills/dist/client/index.js"));

const project = path.join(scratch, "skilled");
const write = (name, content) => {
  const file = path.join(project, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
};
const text = (name, more = "") => `---\nname: ${name}\ndescription: "How to: ${name}"\n${more}---\n\nDo it.\n`;
write(".cycod/tools/hello.yaml", "description: x\nbash: echo hello\ntags: [read]\n");
write(".cycod/skills/notes/SKILL.md", text("notes", "license: MIT\nmetadata:\n  version: '2.1'\n  tags: [a, b]\nallowed-tools: Bash\n"));
write(".cycod/skills/notes/references/Größe & more.md", "héllo\r\n");
write(".cycod/skills/notes/logo.bin", Buffer.from([0, 255, 254, 1]));
write(".cycod/skills/notes/.hidden", "hidden");
write(".cycod/skills/shop/refunds/SKILL.md", text("refunds"));
write(".cycod/skills/wrong/SKILL.md", text("other"));
const env = { PATH: process.env.PATH, HOME: path.join(scratch, "reader"), LANG: "C.UTF-8" };
fs.mkdirSync(path.join(env.HOME, ".cycod/skills/own"), { recursive: true });
fs.writeFileSync(path.join(env.HOME, ".cycod/skills/own/SKILL.md"), text("own"));
const connect = (era) => client({ command: cycod, args: ["mcp", "serve"], env, cwd: project }, { era });
const uris = async (host) => (await skills.listSkills(host)).map(({ uri }) => uri).sort();
const refused = (promise) => promise.then(() => false, ({ code }) => code === -32602 || code === -32002);

export const checks = {
  async "skills of a project wait for trust, those of the user don't"() {
    const host = await connect("auto");
    holds(skills.serverSupportsSkills(host), "the extension is not declared");
    equal(await uris(host), ["skill://own/SKILL.md"]);
    holds(await refused(host.readResource({ uri: "skill://notes/SKILL.md" })), "an untrusted skill is read");
    await host.listTools();
    holds(/2 skills wait for your trust and are not offered until then: notes, shop\/refunds/.test(host.log()), host.log());
    holds(/the skill `wrong` is not offered: its `name` is `other`/.test(host.log()), host.log());
    await host.close();
    ran(cycod, ["trust", "--all", "--yes"], env, project);
  },
  async "a client lists, verifies and reads them, in both eras"() {
    for (const era of ["auto", "legacy"]) {
      const host = await connect(era);
      equal(await uris(host), ["skill://notes/SKILL.md", "skill://own/SKILL.md", "skill://shop/refunds/SKILL.md"]);
      for (const listed of await skills.listSkills(host)) {
        const entry = await skills.getSkill(host, listed.uri);
        equal(entry, listed);
        holds(skills.checkSkillLimits(entry).withinLimits, "too large");
        for (const file of skills.manifestOf(entry)) await skills.readSkillResource(host, entry, file.uri);
        const own = await host.readResource({ uri: entry.uri });
        equal(own.contents[0].mimeType, "text/markdown");
        holds(skills.frontmatterMatchesEntry(own.contents[0].text, entry), `the front matter of ${entry.uri} is another`);
      }
      const notes = await skills.getSkill(host, "skill://notes/SKILL.md");
      equal(notes.resources.map(({ uri }) => uri).sort(), [
        "skill://notes/SKILL.md", "skill://notes/logo.bin", "skill://notes/references/Gr%C3%B6%C3%9Fe%20%26%20more.md",
      ]);
      equal(notes.frontmatter.metadata, { version: "2.1", tags: ["a", "b"] });
      holds(skills.serverSupportsDirectoryRead(host), "directories cannot be read");
      const walked = await skills.walkDirectory(host, "skill://notes");
      equal(walked.map(({ uri, size }) => ({ uri, size })), notes.resources.map(({ uri, size }) => ({ uri, size })));
      const { resources: above } = await skills.readDirectory(host, "skill://shop");
      equal(above, [{ uri: "skill://shop/refunds", name: "refunds", mimeType: "inode/directory" }]);
      const { resources: inside } = await skills.readDirectory(host, "skill://notes/references");
      equal(inside.map(({ name }) => name), ["Größe & more.md"]);
      for (const uri of ["skill://", "skill://nothing", "skill://notes/SKILL.md", "skill://wrong", "skill://notes/.."]) {
        holds(await refused(skills.readDirectory(host, uri)), `${uri} is a directory`);
      }
      for (const uri of ["skill://notes/.hidden", "skill://notes/../own/SKILL.md", "skill://wrong/SKILL.md", "skill://notes"]) {
        holds(await refused(host.readResource({ uri })), `${uri} is read`);
      }
      holds(await refused(skills.getSkill(host, "skill://wrong/SKILL.md")), "a broken skill has an entry");
      await host.close();
    }
  },
  async "a skill that changed is no longer offered"() {
    const host = await connect("auto");
    const entry = await skills.getSkill(host, "skill://notes/SKILL.md");
    write(".cycod/skills/notes/references/new.md", "new\n");
    equal(await uris(host), ["skill://own/SKILL.md", "skill://shop/refunds/SKILL.md"]);
    holds(await refused(skills.readSkillResource(host, entry, entry.uri)), "a changed skill is read");
    ran(cycod, ["trust", "--all", "--yes"], env, project);
    equal((await uris(host)).length, 3);
    ran(cycod, ["tool", "untrust", "--all"], env, project);
    equal(await uris(host), ["skill://own/SKILL.md"]);
    await host.close();
  },
};
