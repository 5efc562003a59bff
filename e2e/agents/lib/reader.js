// A model that knows nothing of toolfold but what stands in the requests: it works
// through tasks, and calls an action once it was shown the names of all arguments
// that it wants to give. What it lacks it looks for: with the host's own search, with
// what describes and finds tools, or, where it writes code, in the code's list of tools.

/** What is asked for. A known action is asked for by name, one to be found in words. right matches the answer of a call that did it. */
export const tasks = [
  { name: 'known', action: 'memory.store', args: { key: 'team/rules', value: { freeze: 'Friday' } }, right: /"stored"/ },
  { name: 'option', action: 'memory.list', args: { prefix: 'team/', limit: 2 }, right: /"total":\s*1/ },
  { name: 'found', action: 'session.create', request: 'record a session of agents working on one task', args: { initiator: 'planner', task: 'Ship' }, right: /"sessionId"/ },
  { name: 'chained', action: 'session.status', from: 'session.create', args: { sessionId: null }, right: /"participants"/ },
  { name: 'other', action: 'timer.start', request: 'measure how long a step takes', args: { metricName: 'build' }, right: /"timerId"/ },
];

/** Returns what decides for a model, as startReader takes it, and the report that it fills: rounds by task. */
export function reader() {
  const report = { rounds: Object.fromEntries(tasks.map((t) => [t.name, 0])), done: [], typed: undefined, steps: [] };
  let last; // step
  const decide = ({ tools, results, body }) => {
    if (tools.length === 0) return null;
    const prompt = unescaped(strings(body).join('\n'));
    const read = results.map(unescaped);
    for (const task of last?.does ?? []) {
      if (task.right.test(read.at(-1))) report.done.push(task.name);
    }
    const task = tasks[report.done.length];
    if (!task || report.rounds[task.name] >= maxRounds) return null;
    const step = plan(task, { tools, prompt, read, tried: report.rounds[task.name] });
    if (!step) return null;
    last = step;
    if (step.does && 'typed' in step) report.typed = (report.typed ?? true) && step.typed;
    report.rounds[task.name]++;
    report.steps.push(`${task.name}: ${step.tool.name} ${typeof step.args === 'string' ? step.args : JSON.stringify(step.args)}`);
    return step;
  };
  return { decide, report };
}

const maxRounds = 6;

/** The next step towards a task. */
function plan(task, { tools, prompt, read, tried }) {
  const coder = tools.find((t) => t.name === 'execute' || (t.call === 'exec' && t.kind === 'custom'));
  const offered = coder ? functions(coder, prompt) : tools.filter((t) => t.name.includes('toolfold')).map(described);
  const [family, verb] = task.action.split('.');
  const own = (name) => offered.find((t) => t.own === name);
  const args = { ...task.args };
  if ('sessionId' in args) args.sessionId = /"sessionId":\s*"([^"]+)"/.exec(read.join('\n'))?.[1];

  const tool = own(`${family}_${verb}`) ?? [own(family), own(`${family}_write`)].find((t) => t && signature(t, verb));
  const runs = own('tool_call');
  const known = Object.keys(args).every((name) => (tool && (tool.declares(name) || signature(tool, verb)?.names.includes(name))) || usage(read, task, name));
  if (tool && known) {
    const next = tasks[tasks.indexOf(task) + 1];
    const then = coder && tool.typed && next?.from === task.action && own(next.action.replace('.', '_'));
    return { ...tool.call(form(tool, `${family}_${verb}`, verb, args), then), does: then ? [task, next] : [task] };
  }
  const describe = own('tools_describe') ?? own('tools');
  if (tool && describe) return describe.call(form(describe, 'tools_describe', 'describe', { name: task.action }));
  if (known && runs) return { ...runs.call({ name: task.action, arguments: args }), does: [task] };
  const find = own('tools_find') ?? own('tools');
  const lost = tried > 1 && !prompt.includes(`_${family}_${verb}"`); // the host's search does not lead to it
  const wanted = tool ? { action: 'tools.describe' } : known ? { action: 'tool.call' } : lost && !find ? { action: 'tools.find' } : task;
  const search = tools.find((t) => /^tool_?search$/i.test(t.name));
  if (wanted !== task || !lost) {
    if (coder) return coder.look(wanted, { tried, hint: hinted(wanted, prompt) });
    if (search) return { tool: search, args: searchQuery(search, wanted, { prompt, tried, own }) };
  }
  if (find) return find.call(form(find, 'tools_find', 'find', { query: task.request ?? task.action }));
  return null;
}

/** The arguments for a host's own search: a name that was shown, the words of the request, and then the family, if that was shown. */
function searchQuery(search, task, { prompt, tried, own }) {
  const [family, verb] = task.action.split('.');
  const names = [...prompt.matchAll(/\bmcp__toolfold__(\w+)/g)].map(([name, short]) => ({ name, short })).filter(({ short }) => !own(short));
  const [named] = [`${family}_${verb}`, family, `${family}_write`].flatMap((wanted) => names.filter(({ short }) => short === wanted));
  if (/select:/.test(JSON.stringify(search.shown)) && named && (!task.request || tried > 0)) return { query: `select:${named.name}` };
  if (!task.request) return { query: tried === 0 ? `${family} ${verb}` : `${family}_${verb}` };
  if (tried === 0) return { query: hinted(task, prompt) ?? task.request };
  return { query: new RegExp(`\\b${family}\\b`).test(prompt) ? family : task.request };
}

/** The family that the server's instructions describe most like the request; undefined where they name none with two of its words. */
function hinted(task, prompt) {
  const words = (text) => text.toLowerCase().split(/\W+/).filter((word) => word.length > 3).map((word) => word.replace(/s$/, ''));
  const [, list] = /Look here for: ([^\n]*)/.exec(prompt) ?? [];
  const scored = [...(list ?? '').matchAll(/(\w+) \(([^)]*)\)/g)].map(([, name, summary]) => {
    const wanted = new Set(words(task.request ?? ''));
    return { name, score: [...new Set(words(`${name} ${summary}`))].filter((word) => wanted.has(word)).length };
  });
  const best = scored.sort((a, b) => b.score - a.score)[0];
  return best?.score > 1 ? best.name : undefined;
}

/** Arguments of a call in the form that the tool's schema wants. own is the name of a tool that is the action alone. */
function form(tool, own, verb, args) {
  const selector = tool.own === own ? {} : { action: verb };
  if (!tool.declares('params')) return { ...selector, ...args };
  const beside = Object.entries(args).filter(([name]) => tool.declares(name));
  const inside = Object.entries(args).filter(([name]) => !tool.declares(name));
  return { ...selector, ...Object.fromEntries(beside), ...(inside.length ? { params: Object.fromEntries(inside) } : {}) };
}

/** A tool of ours that a request shows, with what it declares. */
function described(tool) {
  const schema = tool.shown.parameters ?? tool.shown.input_schema ?? tool.shown.parametersJsonSchema ?? {};
  return {
    own: tool.name.replace(/^.*toolfold[_\-./]*/, ''), description: tool.shown.description ?? '',
    declares: (name) => name in (schema.properties ?? {}), call: (args) => ({ tool, args }),
  };
}

/** The names of an action's parameters in the description of a folded tool; undefined where it does not name the action. */
function signature(tool, verb) {
  const found = new RegExp(`[ :]${verb}(\\(((?:[^()]|\\([^()]*\\))*)\\)|(?=[ \\n]|$))`).exec(tool.description);
  return found && { names: [...(found[2] ?? '').matchAll(/(?:^|[,(| {])(\w+)\??(?=[:,)|]|$)/g)].map(([, name]) => name) };
}

/** Reports whether an answer of ours has shown how the action is called, with a parameter. */
function usage(read, task, name) {
  const [family, verb] = task.action.split('.');
  const line = new RegExp(`(${family}\\(action: ?'${verb}'|${family}_${verb}\\(|tool_call\\([^\\n]*${family}[._]${verb}')[^\\n]*`);
  return read.some((text) => new RegExp(`\\b${name}\\b`).test(line.exec(text.replaceAll('\\n', '\n'))?.[0] ?? ''));
}

/**
 * The functions that a host which runs code has shown, with their arguments, and whether results are typed. Codex declares each in a block of
 * its own after the description, OpenCode in one line before it.
 */
function functions(coder, prompt) {
  const codex = coder.call === 'exec';
  const run = (code) => ({ tool: coder, args: codex ? code : { code } });
  coder.look = (task, how) => run((codex ? lookInCodex : lookInOpenCode)(task, how));
  const pattern = codex
    ? /"name":"(mcp__toolfold__(\w+))","description":"(.*?)declare const tools: \{ \w+\(args: (.*?)\): Promise<(.*?)>; \};/gs
    : /(tools\.toolfold\.(\w+))\(input: (.*?)\): Promise<(.*?)>(?: \/\/ ([^\n]*))?(?=\n|"|$)/gs;
  return [...prompt.matchAll(pattern)].map((m) => {
    const [name, own, description, input, output] = codex ? [`tools.${m[1]}`, m[2], m[3], m[4], m[5]] : [m[1], m[2], m[5] ?? around(prompt, m), m[3], m[4]];
    const typed = codex ? /^CallToolResult<\{/.test(output) : output.startsWith('{');
    const print = (value) => (codex ? `text(${value});` : `return ${value};`);
    return {
      own, description, typed, declares: (param) => new RegExp(`(?<!\\[)\\b${param}\\??:`).test(input), // not [key: string]
      call(args, then) {
        const first = `const a = await ${name}(${JSON.stringify(args)});`;
        if (!then) return { ...run(`${first} ${print('a')}`), typed };
        const id = codex ? 'a.structuredContent.sessionId' : 'a.sessionId'; // declared, so it need not be looked at
        return { ...run(`${first} const b = await ${then.path}({ sessionId: ${id} }); ${print('[a, b]')}`), typed };
      },
      path: name,
    };
  });
}

/** The text before a declaration that a search has answered with: its description. */
const around = (prompt, match) => prompt.slice(Math.max(0, match.index - 1200), match.index);

/** Code that looks for an action among the tools of Codex: by its name, or the tools that share most words with the request, or all names. */
function lookInCodex(task, { tried, hint }) {
  const [family, verb] = task.action.split('.');
  if (hint && tried === 0) return `text(ALL_TOOLS.filter((t) => t.name.includes(${JSON.stringify(hint)})));`;
  if (!task.request || tried > 1) return `text(ALL_TOOLS.filter((t) => t.name.includes(${JSON.stringify(family)}) && (t.name + t.description).includes(${JSON.stringify(verb)})));`;
  if (tried > 0) return 'text(ALL_TOOLS.map((t) => t.name));';
  const words = JSON.stringify(task.request.split(' ').filter((word) => word.length > 3));
  return `const score = (t) => ${words}.filter((word) => (t.name + ' ' + t.description.split('\\n\\n')[0]).toLowerCase().includes(word)).length; `
    + 'text(ALL_TOOLS.map((t) => [score(t), t]).sort((a, b) => b[0] - a[0]).slice(0, 3).map((pair) => pair[1]));';
}

/** Code that asks OpenCode's search: for the action, or in the words of the request, and then for all that the server has. */
function lookInOpenCode(task, { tried }) {
  const query = !task.request ? { query: task.action.replace('.', ' ') } : tried === 0 ? { query: task.request } : { query: '', namespace: 'toolfold', limit: 100 };
  return `return await tools.$codemode.search(${JSON.stringify(query)});`;
}

/** All texts in a value. */
function strings(value) {
  if (typeof value === 'string') return [value];
  return value && typeof value === 'object' ? Object.values(value).flatMap(strings) : [];
}

/** Text in which JSON within JSON is readable, however often it was wrapped. */
function unescaped(text) {
  return text.replaceAll(/\\+"/g, '"').replaceAll(/\\+n/g, '\n');
}
