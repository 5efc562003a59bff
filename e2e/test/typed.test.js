// Tools that are one action each, with whole schemas: their answers are structured
// content, which the clients check against the output schemas that are listed.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clients, connect } from '../lib/clients.js';
import { placeFor } from '../lib/server.js';

for (const kind of clients) {
  test(`typed answers, ${kind.name} (${kind.revision})`, async (t) => {
    const client = await connect(t, kind, 'stdio', placeFor(t), { mode: 'consolidated', more: ['--fold=none', '--listing=full'] });
    const { tools } = await client.listTools();
    const untyped = tools.filter((tool) => !tool.outputSchema).map((tool) => tool.name);
    assert.deepEqual(untyped, ['tool_call']);
    for (const [name, args, check] of [
      ['memory_store', { key: 'a', value: { list: [1, null] } }, (got) => assert.equal(got.replaced, false)],
      ['memory_get', { key: 'a' }, (got) => assert.deepEqual(got.value, { list: [1, null] })],
      ['memory_list', {}, (got) => assert.equal(got.total, 1)],
      ['memory_search', { query: 'nothing like it' }, (got) => assert.equal(got.total, 0)],
      ['task_list', {}, (got) => assert.deepEqual(got.tasks, [])],
      ['tools_find', { query: 'remember something' }, (got) => assert.ok(got.results.length > 0)],
      ['metrics_record', { metricName: 'm', value: 1.5 }, (got) => assert.equal(got.value, 1.5)],
      ['guard_list', {}, (got) => assert.deepEqual(got.policies[0].allowedPaths, [])],
      ['telemetry_summary', { includeDetails: true }, (got) => assert.ok(got.totalMetrics >= 1)],
    ]) {
      const result = await client.callTool({ name, arguments: args });
      assert.ok(!result.isError, `${name}: ${JSON.stringify(result)}`);
      assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
      check(result.structuredContent);
    }
    for (const args of [{}, { key: 'a', include_fields: ['key'] }]) {
      const refused = await client.callTool({ name: 'memory_get', arguments: args });
      assert.equal(refused.isError, true);
      assert.equal(refused.structuredContent, undefined);
    }
  });
}
