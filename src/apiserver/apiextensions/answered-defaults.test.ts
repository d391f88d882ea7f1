/** What a write answers is what a read shows afterwards: defaults of the status, which a create removes, included. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFINITIONS, settle, startCustomServer, WIDGETS, widget, widgetDefinition } from './custom-fixture.ts';

test('a create answers with the defaults of the status', async () => {
  const { send } = await startCustomServer();
  const status = { type: 'object', default: {}, properties: { phase: { type: 'string', default: 'Pending' } } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { status } } };
  const version = { name: 'v1', served: true, storage: true, schema, subresources: { status: {} } };
  await send('POST', DEFINITIONS, widgetDefinition({}, { versions: [version] }));
  await settle();
  const dry = await send('POST', `${WIDGETS}?dryRun=All`, widget('a', undefined));
  const made = await send('POST', WIDGETS, widget('a', undefined));
  const read = await send('GET', `${WIDGETS}/a`);
  const expected = { phase: 'Pending' };
  assert.deepEqual([dry.body.status, made.body.status, read.body.status], [expected, expected, expected]);
});
