// The page in a real browser: each view at two widths and in both colour schemes, with texts of every hostile kind,
// and what a user does there. PAGE_SCREENSHOTS names a folder for pictures of the views.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

import { httpFor, Place, run, start, startHTTP } from '../lib/server.js';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const hostile = '<script>alert(1)</script><img src=x onerror=alert(1)>"\' \u001b[31m\u202e' + 'long'.repeat(2500);
const program = (name) => join(dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist/index.js');

const drawn = `
name: Drawn
steps:
  - {stepId: first, type: tool, config: {tool: memory.stats}}
  - stepId: each
    type: loop
    config:
      items: "[1, 2, 3]"
      steps: [{stepId: inner, type: tool, config: {tool: memory.stats}}]
  - {stepId: late, type: tool, dependsOn: [first, each], config: {tool: session.status, arguments: {sessionId: 00000000-0000-4000-8000-000000000000}}}
  - {stepId: never, type: tool, dependsOn: [late], config: {tool: memory.stats}}
`;

let place, browser, running, link, tools;

/** Runs toolfold in the place. */
function toolfold(...args) {
  return run({ command: process.env.TOOLFOLD_BIN, args, env: place.env, cwd: place.workspace });
}

async function call(action, args) {
  const { code, stdout, stderr } = await toolfold('call', action, JSON.stringify(args));
  assert.equal(code, 0, `${action}: ${stdout} ${stderr}`);
  return JSON.parse(stdout);
}

/** Starts the page and returns its link. */
async function openPage() {
  running?.kill('SIGTERM');
  running = start({ command: process.env.TOOLFOLD_BIN, args: ['page', '--print'], env: place.env, cwd: place.workspace });
  for await (const chunk of running.stdout) return String(chunk).trim();
}

before(async () => {
  place = new Place();
  place.env.TOOLFOLD_STORE = place.store;
  tools = join(place.dir, 'tools.json');
  const tool = (name, description) => ({ name, description, inputSchema: { type: 'object', properties: { path: { type: 'string' } } } });
  const asks = tool('ask_item', 'Ask for an item.');
  writeFileSync(tools, JSON.stringify([tool('read_item', 'Read an item.'), tool('write_item', 'Write an item.'), asks]));
  await toolfold('upstream', 'add', 'changing', '--', process.execPath, join(here, 'server.js'), tools);
  await toolfold('upstream', 'add', 'everything', '--', process.execPath, program('server-everything'));
  await toolfold('upstream', 'add', 'memories', '--', process.execPath, program('server-memory'));
  await toolfold('upstream', 'sets', 'work', 'changing', 'memories');
  writeFileSync(tools, JSON.stringify([tool('read_item', `Read an item. ${hostile}`), tool('write_item', 'Write an item.'),
    tool('drop_item', 'Drop it.'), asks]));
  await toolfold('upstream', 'check', 'changing');
  await toolfold('upstream', 'add', 'broken', '--', 'false');
  await call('memory.store', { key: 'plan', value: { steps: ['one', 'two'] } });
  await call('memory.store', { key: 'plan', value: { steps: ['one', 'two', 'three'] } });
  await call('memory.store', { key: hostile.slice(0, 200), value: hostile });
  await call('session.create', { initiator: 'lead', task: `Port the parser ${hostile.slice(0, 300)}` });
  await call('task.submit', { name: 'Nightly figures', input: { tool: 'memory.stats', arguments: {} }, schedule: '0 3 * * *' });
  await call('task.submit', { name: hostile.slice(0, 60), input: { tool: 'memory.stats', arguments: {} }, scheduledAt: '2099-01-01T00:00:00Z' });
  for (let i = 0; i < 30; i++) await call(i % 3 ? 'memory.get' : 'memory.search', i % 3 ? { key: `k${i}` } : { query: 'steps' });
  await toolfold('call', 'memory.get', '{"keys": 3}');
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
});

after(async () => {
  await browser?.close();
  running?.kill('SIGTERM');
  place?.remove();
});

/** A tab for pages of a base, with what its browser reports, such as a breach of the policy. */
async function watched(t, base) {
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  const reports = [];
  page.on('console', (message) => reports.push(message.text()));
  page.on('pageerror', (error) => reports.push(String(error)));
  page.on('dialog', (dialog) => { reports.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => { if (new URL(request.url()).origin !== new URL(base).origin) reports.push(`request to ${request.url()}`); });
  return { page, reports, at: (path) => new URL(path, base).href };
}

/** A tab that has entered the page by its link. */
async function tab(t) {
  link = await openPage();
  const entered = await watched(t, link);
  await entered.page.goto(link);
  return entered;
}

/** What axe finds wrong with a view. */
function violations(page) {
  return page.evaluate(`${axe}; axe.run().then((r) => r.violations.map((v) => v.id + ': ' + v.nodes[0].html.slice(0, 200)))`);
}

test('each view, at two widths and in both colour schemes', async (t) => {
  const { page, reports, at } = await tab(t);
  const first = async (list) => {
    await page.goto(at(list));
    return page.getAttribute('td.name a', 'href');
  };
  const views = {
    overview: '/', servers: '/servers', tools: '/servers?find=item', server: '/servers/changing', everything: '/servers/everything', broken: '/servers/broken',
    plan: '/servers/changing/plan', never: '/calls/never', schedule: '/tasks/new',
    calls: '/calls', trace: await first('/calls'), tasks: '/tasks', task: await first('/tasks'), notes: '/notes', found: '/notes?query=steps',
    note: '/note?key=plan&namespace=default', hostile: await first('/notes'), sessions: '/sessions', session: await first('/sessions'),
    settings: '/settings', actions: '/tools', tool: '/tools/changing.write_item', charts: '/charts', absent: '/nothing',
  };
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const width of [360, 1280, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      for (const [name, path] of Object.entries(views)) {
        const where = `${name}, ${width} px, ${colorScheme}`;
        const { status } = await page.goto(at(path)).then((answer) => ({ status: answer.status() }));
        assert.equal(status, name === 'absent' ? 404 : 200, where);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert.ok(wide <= 0, `${where} is ${wide} px wider than the window`);
        assert.deepEqual(await violations(page), [], where);
        if (process.env.PAGE_SCREENSHOTS && width === 1280) {
          await page.screenshot({ path: join(process.env.PAGE_SCREENSHOTS, `page-${name}-${colorScheme}.png`) });
        }
      }
    }
  }
  assert.deepEqual(reports.filter((line) => !line.includes('404')), []);
});

test('held tools are rejected and approved, and the server switched off and on', async (t) => {
  const { page, reports, at } = await tab(t);
  await page.goto(at('/'));
  await page.click('text=changing');
  assert.match(await page.textContent('main'), /Held back/);
  await page.click('button:has-text("approve drop_item")');
  assert.equal(await page.locator('button:has-text("approve drop_item")').count(), 0);
  assert.equal(await page.locator('button:has-text("approve read_item")').count(), 1);
  assert.match((await toolfold('upstream', 'approve', 'changing', '--dry-run')).stdout, /changed {2}read_item/);
  await page.click('button:has-text("reject read_item")');
  assert.match(await page.textContent('h3:has-text("read_item")'), /changed, rejected/);
  assert.equal(await page.locator('button:has-text("reject read_item")').count(), 0);
  assert.match((await toolfold('upstream', 'approve', 'changing', '--dry-run')).stdout, /rejected read_item/);
  await page.click('button:has-text("restart")');
  assert.match(await page.textContent('p[role=status]:visible'), /changing is not running|restarted changing/);
  assert.deepEqual(await violations(page), []);
  await page.click('button:has-text("disable")');
  await page.click('button:has-text("enable")');
  assert.equal(await page.locator('button:has-text("disable")').count(), 1);
  assert.deepEqual(reports, []);
});

test('a plan is counted while it is edited, stored, and refused after another change', async (t) => {
  const { page, reports, at } = await tab(t);
  await page.goto(at('/servers/everything'));
  await page.click('text=edit how they are folded');
  const area = page.locator('textarea[name=plan]');
  const text = await area.inputValue();
  const family = text.match(/- name: (\w+)/)[1];
  await area.fill(text.replace(`name: ${family}`, 'name: All of them'));
  await page.locator('#part-effect li:has-text("line 2: family")').waitFor(); // no button was pressed
  assert.deepEqual(await violations(page), []);
  await area.fill(text.replace(`name: ${family}`, 'name: renamed'));
  await page.locator(`#part-effect li:has-text("is renamed.")`).first().waitFor();
  assert.match(await page.textContent('#part-effect'), /by this plan/);
  assert.deepEqual(await violations(page), []);
  if (process.env.PAGE_SCREENSHOTS) await page.screenshot({ path: join(process.env.PAGE_SCREENSHOTS, 'page-plan-light.png') });
  await page.click('button:has-text("store the plan")');
  await page.waitForURL(at('/servers/everything'));
  assert.match((await toolfold('upstream', 'fold', 'everything')).stdout, /name: renamed/);
  await page.goto(at('/servers/everything/plan'));
  await toolfold('upstream', 'fold', 'everything', '--again');
  await page.click('button:has-text("store the plan")');
  assert.match(await page.textContent('#part-effect'), /Nothing is stored: another plan was stored/);
  assert.match(await area.inputValue(), /name: renamed/);
  assert.doesNotMatch((await toolfold('upstream', 'fold', 'everything')).stdout, /name: renamed/);
  assert.deepEqual(reports.filter((line) => !line.includes('422') && !line.includes('409')), []);
});

test('a note is edited, deleted and restored, a task cancelled and retried', async (t) => {
  const { page, reports, at } = await tab(t);
  await page.goto(at('/notes'));
  await page.click('a:text-is("plan")');
  await page.click('summary');
  await page.fill('textarea', '{"steps": ["four"]}');
  await page.click('button:has-text("store")');
  assert.deepEqual((await call('memory.get', { key: 'plan' })).value, { steps: ['four'] });
  await page.click('button:has-text("delete")');
  assert.match(await page.textContent('main'), /There is no such note now/);
  await page.click('button:has-text("undo the deletion")');
  assert.deepEqual((await call('memory.get', { key: 'plan' })).value, { steps: ['four'] });
  await page.goto(at('/tasks?status=pending'));
  await page.click('text=Nightly figures');
  await page.click('button:has-text("cancel")');
  await page.goto(at('/tasks?status=cancelled'));
  assert.match(await page.textContent('main'), /Nightly figures/);
  assert.deepEqual(reports, []);
});

test('a schedule is made, changed, paused and resumed', async (t) => {
  const { page, reports, at } = await tab(t);
  await page.goto(at('/tasks'));
  await page.click('text=new schedule');
  await page.fill('label:has-text("name") input', 'Figures <b>');
  await page.fill('label:has-text("schedule") input', 'at noon');
  await page.fill('label:has-text("action") input', 'memory.stats');
  await page.click('button:has-text("make the schedule")');
  assert.match(await page.textContent('p[role=alert]'), /at noon/);
  assert.equal(await page.inputValue('label:has-text("schedule") input'), 'at noon');
  assert.deepEqual(await violations(page), []);
  await page.fill('label:has-text("schedule") input', '0 12 * * *');
  await page.click('button:has-text("make the schedule")');
  await page.click('a:text-is("change")');
  assert.match(await page.inputValue('label:has-text("input") textarea'), /memory\.stats/);
  await page.fill('label:has-text("schedule") input', '30 12 * * *');
  await page.click('button:has-text("change the schedule")');
  const id = new URL(page.url()).pathname.split('/').pop();
  assert.equal((await call('task.status', { taskId: id })).schedule, '30 12 * * *');
  await page.click('button:has-text("pause")');
  assert.equal((await call('task.status', { taskId: id })).status, 'paused');
  await page.goto(at(`/tasks/${id}`));
  await page.click('button:has-text("resume")');
  assert.equal((await call('task.status', { taskId: id })).status, 'pending');
  await call('task.cancel', { taskId: id });
  assert.deepEqual(reports.filter((line) => !line.includes('422')), []);
});

/** Sends a request of a client that takes tasks and asks its user. */
async function request(url, method, name, params) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'toolfold-e2e', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Protocol-Version': '2026-07-28',
      'Mcp-Method': method, 'Mcp-Name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
  });
  const answer = await response.json();
  assert.ok(answer.result, JSON.stringify(answer));
  return answer.result;
}

test('the question of a task is answered', async (t) => {
  const server = await startHTTP(place);
  t.after(() => server.stop());
  const taken = await request(server.url, 'tools/call', 'tool_call', { name: 'tool_call', arguments: { name: 'changing.ask_item' } });
  assert.equal(taken.resultType, 'task', JSON.stringify(taken));
  const { page, reports, at } = await tab(t);
  await page.goto(at('/'));
  await page.click('li:has-text("has 1 question for you") a');
  assert.match(await page.textContent('.asked'), /changing asks: Which fruit/);
  await page.selectOption('select >> nth=0', { label: 'Plum' });
  await page.fill('label:has-text("How many") input', '12');
  await page.click('button:has-text("answer")');
  assert.match(await page.textContent('.field .bad'), /many must be 1 to 9, got 12/);
  assert.equal(await page.inputValue('select >> nth=0'), '"plum"');
  if (process.env.PAGE_SCREENSHOTS) await page.screenshot({ path: join(process.env.PAGE_SCREENSHOTS, 'page-question-light.png') });
  const found = await page.evaluate(`${axe}; axe.run().then((r) => r.violations.map((v) => v.id + ': ' + v.nodes[0].html.slice(0, 200)))`);
  assert.deepEqual(found, []);
  await page.fill('label:has-text("How many") input', '3');
  await page.click('button:has-text("answer")');
  assert.equal(await page.locator('text=Questions for you').count(), 0);
  const done = await call('task.wait', { taskId: taken.taskId, timeoutMs: 50_000 });
  assert.match(JSON.stringify(done), /answered .*accept.*plum.*3/);
  assert.deepEqual(reports.filter((line) => !line.includes('422')), []);
});

test('a script that was cut off is shown, settled and goes on', async (t) => {
  const server = await startHTTP(place);
  t.after(() => server.stop());
  const code = `// ${hostile.slice(0, 300)}
const {total} = await memory.list({});
await memory.store({key: 'script', value: 1});
await tools.call('changing.write_item', {path: 'one'});
const answer = await tools.call('changing.write_item', {path: 'cut off'});
await memory.store({key: 'script', value: answer});
return total`;
  const taken = await request(server.url, 'tools/call', 'tool_call', { name: 'tool_call', arguments: { name: 'script.run', arguments: { code } } });
  const id = taken.taskId ?? JSON.parse(taken.content[0].text).id; // the run may stop before the call becomes a task
  const { page, reports, at } = await tab(t);
  await page.goto(at(`/tasks/${id}`));
  await page.locator('#stopped-news, legend:has-text("call 4")').locator('visible=true').waitFor(); // the page follows the run
  const task = page.url();
  await page.goto(at('/'));
  await page.click('#part-todo li:has-text("stopped: a call may have been done") a');
  await page.waitForURL(task);
  assert.match(await page.textContent('.source li.here'), /cut off.*stopped at changing\.write_item/);
  assert.equal(await page.locator('.source li.here').count(), 1);
  assert.match(await page.textContent('#part-script'), /memory\.store.*1.*changing\.write_item.*1.*Journal.*reads.*unknown: may have been done/s);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const width of [360, 1280, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth) <= 0, `${width} px`);
      assert.deepEqual(await violations(page), [], `${width} px, ${colorScheme}`);
    }
  }
  if (process.env.PAGE_SCREENSHOTS) await page.screenshot({ path: join(process.env.PAGE_SCREENSHOTS, 'page-script-dark.png'), fullPage: true });
  await page.selectOption('select', 'result');
  await page.fill('textarea', 'paid');
  await page.click('button:has-text("go on")');
  assert.match(await page.textContent('fieldset .bad'), /must be JSON/);
  assert.equal(await page.inputValue('textarea'), 'paid');
  assert.deepEqual(await violations(page), []);
  await page.fill('textarea', '{"paid": true}');
  await page.click('button:has-text("go on")');
  await page.locator('#part-state:has-text("completed")').waitFor();
  assert.deepEqual((await call('memory.get', { key: 'script' })).value, { paid: true });
  assert.equal(await page.locator('button:has-text("go on")').count(), 0);
  assert.deepEqual(reports.filter((line) => !line.includes('422')), []);
});

test('charts are drawn from their tables, which stay', async (t) => {
  for (const file of ['uPlot.iife.min.js', 'uPlot.min.css']) {
    const vendored = readFileSync(join(here, '../../internal/cli/page/uplot', file), 'utf8');
    assert.equal(vendored, readFileSync(join(dirname(require.resolve('uplot/package.json')), 'dist', file), 'utf8'), file);
  }
  for (const value of [1, 2, 3]) await call('metrics.record', { metricName: 'cost', value });
  const { page, reports, at } = await tab(t);
  await page.goto(at('/charts?metric=cost'));
  await page.locator('.plots canvas').first().waitFor();
  const titles = () => page.locator('.u-title').allTextContents();
  assert.deepEqual(await titles(), ['calls', 'milliseconds', 'tokens', 'mean', 'points']);
  const drawn = (plot) => page.locator('.plots canvas').nth(plot).evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colors = ['9,105,218,255', '207,34,46,255']; // --bar and --bad
    return data.some((_, i) => i % 4 === 0 && colors.includes(data.slice(i, i + 4).join()));
  });
  for (const plot of [0, 1, 2, 3, 4]) assert.ok(await drawn(plot), `plot ${plot} has no line and no point`);
  assert.equal(await page.locator('table[data-plot]').count(), 2);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const width of [360, 1280, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForFunction(() => [...document.querySelectorAll('.plots > div')].every((box) => box.scrollWidth <= box.clientWidth));
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${width} px`);
      assert.deepEqual(await violations(page), [], `${width} px, ${colorScheme}`);
    }
  }
  if (process.env.PAGE_SCREENSHOTS) {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.screenshot({ path: join(process.env.PAGE_SCREENSHOTS, 'page-charts-drawn-light.png') });
  }
  assert.equal((await titles()).length, 5);
  await page.click('a:has-text("memory")');
  await page.locator('td.name a:has-text("memory.get")').waitFor();
  assert.deepEqual(reports, []);
});

test('a tool is tried: previewed, called, and destructive ones only after a second step', async (t) => {
  const { page, reports, at } = await tab(t);
  await page.goto(at('/servers?find=write+item'));
  await page.click('summary:has-text("Write an item")');
  await page.click('a[href="/tools/changing.write_item"]');
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.fill('textarea[name=field0]', '<b>one</b>');
  await page.click('button:has-text("preview")');
  assert.match(await page.textContent('main'), /Nothing is called yet.*tokens.*<b>one<\/b>/s);
  assert.deepEqual(await violations(page), []);
  if (process.env.PAGE_SCREENSHOTS) await page.screenshot({ path: join(process.env.PAGE_SCREENSHOTS, 'page-try-light.png') });
  await page.click('button:has-text("yes, call it")');
  assert.match(await page.textContent('main'), /It worked.*done/s);
  await page.setViewportSize({ width: 360, height: 900 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  assert.deepEqual(await violations(page), []);
  await page.goto(at('/tools/memory.get'));
  await page.click('summary:has-text("as JSON")');
  await page.fill('textarea[name=arguments]', '{"keys": 3}');
  await page.click('button:has-text("call it")');
  await page.locator('[role=alert]').waitFor();
  assert.equal(await page.inputValue('textarea[name=arguments]'), '{"keys": 3}');
  assert.deepEqual(await violations(page), []);
  await page.fill('textarea[name=arguments]', '{"key": "plan"}');
  await page.click('button:has-text("call it")');
  assert.match(await page.textContent('main'), /It worked.*"found": true/s);
  assert.deepEqual(reports.filter((line) => !line.includes('422')), []);
});

test('the workflow of a task is drawn, with its states', async (t) => {
  const workflows = join(place.workspace, '.toolfold', 'workflows');
  mkdirSync(workflows, { recursive: true });
  writeFileSync(join(workflows, 'drawn.yaml'), drawn);
  const server = await startHTTP(place);
  t.after(() => server.stop());
  const submit = { action: 'submit', name: 'Draw', workflowId: 'drawn', input: {} };
  const { content } = await request(server.url, 'tools/call', 'task', { name: 'task', arguments: submit });
  const { taskId } = JSON.parse(content[0].text);
  const { page, reports, at } = await tab(t);
  await page.goto(at(`/tasks/${taskId}`));
  const text = (id) => page.locator(`.step:has(> strong:text-is("${id}"))`).first().textContent();
  await page.locator('.step.failed:has(> strong:text-is("late"))').waitFor(); // the page follows the run
  assert.match(await text('first'), /memory\.stats.*success/s);
  assert.match(await text('each'), /loop.*success.*each time.*inner.*success, 3 runs/s);
  assert.match(await text('late'), /failure.*after first, each/s);
  assert.match(await text('never'), /no run is recorded/);
  assert.equal(await page.locator('#part-graph > ol > li').count(), 3);
  assert.equal(await page.locator('#part-graph > ol > li:first-child > .step').count(), 2);
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth) <= 0, `${width} px`);
  }
  const found = await page.evaluate(`${axe}; axe.run().then((r) => r.violations.map((v) => v.id + ': ' + v.nodes[0].html.slice(0, 200)))`);
  assert.deepEqual(found, []);
  assert.deepEqual(reports, []);
});

test('parts follow what happens, and not under the hands of the user', async (t) => {
  const { page, reports, at } = await tab(t);
  await page.goto(at('/calls'));
  const loaded = () => page.waitForResponse((response) => response.request().resourceType() === 'fetch');
  const began = async (label) => page.locator(`#part-calls td:has-text("${label}")`).first().waitFor();
  await call('memory.list', { prefix: 'followed' });
  await began('memory.list');

  // Focus in a part keeps it; the filter form is in no part.
  await page.focus('#part-calls .wide');
  await Promise.all([loaded(), call('memory.stats', {})]);
  await page.evaluate(() => new Promise((done) => { setTimeout(done); }));
  assert.equal(await page.locator('#part-calls td:has-text("memory.stats")').count(), 0);
  await page.fill('input[name="caller"]', 'typed'); // the focus leaves the part
  await began('memory.stats');
  assert.equal(await page.inputValue('input[name="caller"]'), 'typed');

  // Rows with buttons stay under the pointer.
  await page.goto(at('/tasks'));
  await page.hover('#part-tasks button >> nth=0');
  const later = { name: 'Under the pointer', input: { tool: 'memory.stats', arguments: {} }, scheduledAt: '2099-01-01T00:00:00Z' };
  await Promise.all([loaded(), call('task.submit', later)]);
  await page.evaluate(() => new Promise((done) => { setTimeout(done); }));
  assert.equal(await page.locator('td:has-text("Under the pointer")').count(), 0);
  await page.hover('h1');
  await page.locator('td:has-text("Under the pointer")').waitFor();

  // What is held back is never replaced: a line tells of changes.
  await page.goto(at('/servers/changing'));
  const held = await page.innerHTML('#held');
  const list = JSON.parse(readFileSync(tools, 'utf8'));
  writeFileSync(tools, JSON.stringify([...list, { name: 'late_item', description: 'Late.', inputSchema: { type: 'object' } }]));
  await toolfold('upstream', 'check', 'changing');
  await page.locator('#held-news').waitFor();
  assert.equal(await page.innerHTML('#held'), held);
  await page.click('#held-news a');
  await page.locator('h3:has-text("late_item")').waitFor();

  // A hidden page has no stream, and is brought up to date when it is seen again.
  const streams = () => page.evaluate(() => typeof source === 'undefined' || source === undefined ? 0 : 1);
  assert.equal(await streams(), 1);
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { value: true, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  assert.equal(await streams(), 0);
  await Promise.all([loaded(), page.evaluate(() => {
    delete document.hidden;
    document.dispatchEvent(new Event('visibilitychange'));
  })]);
  assert.equal(await streams(), 1);

  // When the command ends, the page stays, and tells that it is old.
  assert.deepEqual(reports, []);
  running.kill('SIGTERM');
  await page.locator('#gone').waitFor({ timeout: 60_000 });
  assert.match(await page.textContent('h1'), /changing/);
});

test('the page is whole without scripts', async (t) => {
  link = await openPage();
  const context = await browser.newContext({ javaScriptEnabled: false });
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(link);
  for (const text of ['Needs you', 'Tokens of the list', 'memory.search']) assert.match(await page.textContent('main'), new RegExp(text));
  await page.click('nav >> text=servers');
  await page.fill('input[name=find]', 'write item');
  await page.click('button:has-text("find")');
  await page.click('summary:has-text("Write an item")');
  await page.locator('pre:visible:has-text("inputSchema")').waitFor();
  await page.click('h3 a:has-text("changing")');
  assert.equal(await page.inputValue('input[name=find]'), 'write item');
  await page.click('nav >> text=tasks');
  assert.match(await page.textContent('main'), /Nightly figures/);
});

test('the keyboard reaches everything', async (t) => {
  const { page, at } = await tab(t);
  await page.goto(at('/'));
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'skip to the content');
  const reached = new Set();
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement.getAttribute('href') ?? document.activeElement.tagName));
  }
  for (const path of ['/', '/servers', '/tools', '/calls', '/charts', '/tasks', '/notes', '/sessions', '/settings', '/servers/broken']) {
    assert.ok(reached.has(path), `${path} of ${[...reached]}`);
  }
});

test('the link works once, and another site can do nothing', async (t) => {
  const { page, at } = await tab(t);
  const other = await browser.newContext();
  t.after(() => other.close());
  const thief = await other.newPage();
  assert.equal((await thief.goto(link)).status(), 403);
  assert.equal((await thief.goto(at('/notes'))).status(), 403);

  // A page of another origin in the browser that has the cookie.
  await page.route('http://evil.example/', (route) => route.fulfill({
    contentType: 'text/html', body: `<form method="post" action="${at('/do/memory.delete')}"><input name="key" value="plan"></form>`,
  }));
  await page.goto('http://evil.example/');
  const [answer] = await Promise.all([
    page.waitForResponse(at('/do/memory.delete')), page.waitForURL(at('/do/memory.delete')), // the next page would interrupt it
    page.evaluate(() => { setTimeout(() => document.forms[0].submit()); }), // the submission ends the page that it is called in
  ]);
  assert.equal(answer.status(), 403);
  assert.equal((await call('memory.get', { key: 'plan' })).found, true);
  await page.route('http://evil.example/', (route) => route.fulfill({ contentType: 'text/html', body: '' }));
  await page.goto('http://evil.example/');
  assert.equal(await page.evaluate((url) => fetch(url, { credentials: 'include' }).then((r) => r.text(), () => 'refused'), at('/notes')), 'refused');
});

test('over a network: a login, a change, a logout', async (t) => {
  const token = (await toolfold('token', 'add', 'me', '--admin')).stdout.trim();
  t.after(() => toolfold('token', 'remove', 'me'));
  const served = await httpFor(t, place);
  const { page, reports, at } = await watched(t, served.base);
  const focused = () => page.waitForFunction(() => document.activeElement.name === 'token'); // the browser does that with its first frame
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 360, height: 900 });
    await page.goto(at('/note?key=plan&namespace=default'));
    assert.equal(new URL(page.url()).pathname, '/login');
    assert.deepEqual(await violations(page), [], `the form to log in, ${colorScheme}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
    await focused();
  }
  assert.deepEqual(reports, []);
  await page.keyboard.type('a wrong token');
  await page.keyboard.press('Enter');
  await page.waitForSelector('text=No admin has this token');
  assert.deepEqual(reports.splice(0).filter((line) => !line.includes('403')), []);
  await focused();
  await page.fill('input[name=token]', token);
  await page.click('button:has-text("log in")');
  await page.waitForURL(at('/note?key=plan&namespace=default'));
  assert.deepEqual(await violations(page), [], 'a view with the button to log out');
  await page.click('summary');
  await page.fill('textarea', '{"steps": ["five"]}');
  await page.click('button:has-text("store")');
  await page.waitForSelector('pre:has-text("five")');
  assert.deepEqual((await call('memory.get', { key: 'plan' })).value, { steps: ['five'] });

  // Scripts cannot read the cookie. A page of another port of this machine, for which the browser sends it, can change nothing.
  assert.equal(await page.evaluate(() => document.cookie), '');
  const other = await httpFor(t, place);
  const held = await page.context().newPage();
  await held.route(`${other.base}/evil`, (route) => route.fulfill({
    contentType: 'text/html', body: `<form method="post" action="${at('/do/memory.delete')}"><input name="key" value="plan"></form>`,
  }));
  await held.goto(`${other.base}/evil`);
  const [answer] = await Promise.all([held.waitForResponse(at('/do/memory.delete')), held.evaluate(() => document.forms[0].submit())]);
  assert.equal(answer.status(), 403);
  assert.equal((await call('memory.get', { key: 'plan' })).found, true);

  const [cookie] = (await page.context().cookies()).filter((c) => c.name === `toolfold-session-${new URL(served.base).port}`);
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);

  // Another tab follows what happens until the session ends.
  const tab = await page.context().newPage();
  await tab.goto(at('/calls'));
  await call('queue.list', {});
  await tab.locator('#part-calls td:has-text("queue.list")').first().waitFor();
  await page.click('button:has-text("log out")');
  await page.waitForURL(at('/login'));
  await tab.locator('#gone:has-text("your session has ended")').waitFor();
  await tab.close();
  await page.context().addCookies([cookie]);
  await page.goto(at('/notes'));
  assert.equal(new URL(page.url()).pathname, '/login');
  assert.deepEqual(reports, []);
});
