// Twenty jobs over a folder of files and a graph of notes, as agents are given them. The text of a job is
// the body of an async function of files, graph and input: the same text runs as a script of toolfold and
// here, where each call is one that a model would make.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const people = ['ada', 'grace', 'linus', 'barbara', 'ken'];
const labels = ['bug', 'docs', 'speed', 'security'];
const sentence = 'The import stops at the second page, and the log shows nothing that helps. Steps, versions and a trace are below. ';

/** Writes the files of the jobs into a folder. */
export function prepare(dir) {
  const write = (path, text) => {
    mkdirSync(join(dir, path, '..'), { recursive: true });
    writeFileSync(join(dir, path), text);
  };
  for (let i = 1; i <= 40; i++) {
    write(`issues/${i}.json`, JSON.stringify({
      number: i, title: `Import fails with code ${(i * 7) % 31}`, state: i % 3 === 0 ? 'closed' : 'open', assignee: people[i % 5],
      label: labels[(i * i) % 4], created: `2026-${String(1 + ((i * 5) % 11)).padStart(2, '0')}-${String(1 + ((i * 3) % 28)).padStart(2, '0')}`,
      body: sentence.repeat(4 + (i % 5)),
    }, null, 2));
  }
  for (let month = 1; month <= 12; month++) {
    const rows = Array.from({ length: 60 }, (_, i) => `${month}-${1 + (i % 28)},${people[(i + month) % 5]},${((i * 37 + month * 11) % 500) + 0.5}`);
    write(`sales/2026-${String(month).padStart(2, '0')}.csv`, `day,person,amount\n${rows.join('\n')}\n`);
  }
  for (let n = 1; n <= 5; n++) {
    const lines = Array.from({ length: 150 }, (_, i) => `${String((i * 3 + n) % 24).padStart(2, '0')}:${String(i % 60).padStart(2, '0')} `
      + (i % 7 === 0 ? `ERROR ${['timeout', 'no space', 'refused', 'bad header'][(i + n) % 4]}` : `INFO served page ${i}`));
    write(`logs/app-${n}.log`, `${lines.join('\n')}\n`);
  }
  for (let n = 1; n <= 15; n++) {
    const imports = n < 12 ? `import { part${n + 1} } from './part${n + 1}.js';\n` : '';
    const todo = n % 4 === 0 ? `// TODO(${people[n % 5]}): handle an empty list\n` : '';
    write(`src/part${n}.js`, `${imports}${todo}export const part${n} = (list) => list.map((x) => x + ${n});\n`
      + `export const size${n} = ${n};\n${'// Keeps the order of its input.\n'.repeat(12)}`);
  }
  for (let n = 1; n <= 12; n++) {
    const title = n % 3 === 0 ? '' : `# Page ${n}\n\n`;
    write(`pages/page ${n}.md`, `${title}${sentence.repeat(5)}\n\nSee [the next](page ${n + 1}.md) and [issue](../issues/${n * 5}.json).\n`);
  }
  const config = (n, extra) => JSON.stringify({ port: 8000 + n, log: { level: n % 2 ? 'info' : 'debug' }, limits: { bytes: 1000 * n }, ...extra }, null, 2);
  for (let n = 1; n <= 8; n++) {
    write(`config/one/${n}.json`, config(n, { cache: true }));
    write(`config/two/${n}.json`, config(n, n % 3 === 0 ? { cache: true, retries: 3 } : { cache: n % 2 === 0 }));
  }
}

const issues = `const issues = await Promise.all(Array.from({length: 40}, async (_, i) =>
  JSON.parse((await files.read_text_file({path: input.dir + "/issues/" + (i + 1) + ".json"})).content)));
`;
const logs = `const logs = await Promise.all([1, 2, 3, 4, 5].map(async n =>
  (await files.read_text_file({path: input.dir + "/logs/app-" + n + ".log"})).content.trim().split("\\n")));
`;
const names = `const names = async dir => (await files.list_directory({path: input.dir + "/" + dir})).content.split("\\n")
  .filter(line => line.startsWith("[FILE]")).map(line => line.slice(7));
const read = async path => (await files.read_text_file({path: input.dir + "/" + path})).content;
`;

/** The jobs by what they are asked for. They run in order: some change what later ones read. */
export const jobs = {
  'which open issues are assigned to ada': `${issues}
    return issues.filter(i => i.state === "open" && i.assignee === "ada").map(i => i.number)`,
  'how many issues does each label have': `${issues}
    const counts = {}; for (const i of issues) counts[i.label] = (counts[i.label] ?? 0) + 1; return counts`,
  'what is the oldest open issue': `${issues}
    const {number, title, created} = issues.filter(i => i.state === "open").sort((a, b) => a.created < b.created ? -1 : 1)[0];
    return {number, title, created}`,
  'which issues have the same title': `${issues}
    const same = {}; for (const i of issues) (same[i.title] ??= []).push(i.number); return Object.values(same).filter(list => list.length > 1)`,
  'what did we sell in the year': `${names}
    let sum = 0; for (const name of await names("sales")) for (const row of (await read("sales/" + name)).trim().split("\\n").slice(1))
      sum += Number(row.split(",")[2]);
    return sum`,
  'which month sold most': `${names}
    const sums = await Promise.all((await names("sales")).map(async name => [name.slice(0, 7),
      (await read("sales/" + name)).trim().split("\\n").slice(1).reduce((sum, row) => sum + Number(row.split(",")[2]), 0)]));
    return sums.sort((a, b) => b[1] - a[1])[0]`,
  'who sold most, month by month': `${names}
    const best = {}; for (const name of (await names("sales")).sort()) { const by = {};
      for (const row of (await read("sales/" + name)).trim().split("\\n").slice(1)) { const [, who, n] = row.split(","); by[who] = (by[who] ?? 0) + Number(n) }
      best[name.slice(5, 7)] = Object.entries(by).sort((a, b) => b[1] - a[1])[0][0] }
    return best`,
  'in which hour are there most errors': `${logs}
    const hours = {}; for (const line of logs.flat()) if (line.includes("ERROR")) hours[line.slice(0, 2)] = (hours[line.slice(0, 2)] ?? 0) + 1;
    return Object.entries(hours).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0]`,
  'what are the most frequent errors': `${logs}
    const kinds = {}; for (const line of logs.flat()) { const [, kind] = line.split("ERROR "); if (kind) kinds[kind] = (kinds[kind] ?? 0) + 1 }
    return Object.entries(kinds).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 3)`,
  'who has to do what in the sources': `${names}
    const found = []; for (const name of (await names("src")).sort()) for (const m of (await read("src/" + name)).matchAll(/TODO\\((\\w+)\\): (.*)/g))
      found.push([name, m[1], m[2]]);
    return found`,
  'which exports does no other file import': `${names}
    const texts = await Promise.all((await names("src")).sort().map(async name => [name, await read("src/" + name)]));
    return texts.flatMap(([name, text]) => [...text.matchAll(/export const (\\w+)/g)].map(m => m[1])
      .filter(x => !texts.some(([other, t]) => other !== name && t.includes("{ " + x + " }"))))`,
  'which links of the pages lead nowhere': `${names}
    const there = new Set([...(await names("pages")).map(n => "pages/" + n), ...(await names("issues")).map(n => "issues/" + n)]), broken = [];
    for (const name of (await names("pages")).sort()) for (const [, to] of (await read("pages/" + name)).matchAll(/\\]\\(([^)]*)\\)/g))
      if (!there.has(to.startsWith("../") ? to.slice(3) : "pages/" + to)) broken.push([name, to]);
    return broken`,
  'which five files are the largest': `${names}
    const sizes = []; for (const dir of ["issues", "sales", "logs", "src", "pages"]) for (const name of await names(dir)) {
      const info = (await files.get_file_info({path: input.dir + "/" + dir + "/" + name})).content;
      sizes.push([dir + "/" + name, Number(/size: (\\d+)/.exec(info)[1])]) }
    return sizes.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 5)`,
  'where do the two configurations differ': `${names}
    const differ = []; for (const name of (await names("config/one")).sort()) {
      const [a, b] = (await Promise.all([read("config/one/" + name), read("config/two/" + name)])).map(text => JSON.parse(text));
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) if (JSON.stringify(a[key]) !== JSON.stringify(b[key])) differ.push(name + ":" + key) }
    return differ`,
  'note each open issue in the graph': `${issues}
    const open = issues.filter(i => i.state === "open");
    for (const i of open) await graph.create_entities({entities: [{name: "issue " + i.number, entityType: "issue", observations: [i.title, "label " + i.label]}]});
    return open.length`,
  'relate the issues to their people': `${issues}
    const people = [...new Set(issues.map(i => i.assignee))].sort();
    await graph.create_entities({entities: people.map(name => ({name, entityType: "person", observations: []}))});
    for (const i of issues) if (i.state === "open")
      await graph.create_relations({relations: [{from: i.assignee, to: "issue " + i.number, relationType: "works on"}]});
    return people`,
  'who works on most security issues': `
    const {entities, relations} = await graph.read_graph({}), counts = {};
    const security = new Set(entities.filter(e => e.observations.includes("label security")).map(e => e.name));
    for (const r of relations) if (security.has(r.to)) counts[r.from] = (counts[r.from] ?? 0) + 1;
    return Object.entries(counts).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0] ?? null`,
  'give each page a title that has none': `${names}
    const done = []; for (const name of (await names("pages")).sort()) { const text = await read("pages/" + name);
      if (text.startsWith("# ")) continue;
      await files.write_file({path: input.dir + "/pages/" + name, content: "# " + name.slice(0, -3) + "\\n\\n" + text}); done.push(name) }
    return done`,
  'rename the pages without spaces, and their links': `${names}
    const before = (await names("pages")).sort();
    for (const name of before) { const text = await read("pages/" + name);
      const next = text.replace(/\\]\\(page (\\d+)\\.md\\)/g, "](page-$1.md)");
      if (next !== text) await files.write_file({path: input.dir + "/pages/" + name, content: next});
      await files.move_file({source: input.dir + "/pages/" + name, destination: input.dir + "/pages/" + name.replace(/ /g, "-")}) }
    return (await names("pages")).length`,
  'write a report of the sales of each person': `${names}
    const by = {}; for (const name of await names("sales")) for (const row of (await read("sales/" + name)).trim().split("\\n").slice(1)) {
      const [, who, n] = row.split(","); by[who] = (by[who] ?? 0) + Number(n) }
    const report = Object.entries(by).sort().map(([who, n]) => "| " + who + " | " + n + " |").join("\\n");
    await files.write_file({path: input.dir + "/report.md", content: "| person | sales |\\n|---|---|\\n" + report + "\\n"});
    return Object.keys(by).length`,
};
