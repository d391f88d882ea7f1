import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods } from '../../api/gen/resources.ts';
import { StatusError } from '../../api/status-error.ts';
import type { ConnectSubresource } from '../registry/resource-definition.ts';
import { serveConnect } from './connect.ts';
import type { Call } from './endpoint.ts';

/** The ports of a query as admission receives them, or the refusal of the request. */
async function admitted(query: string): Promise<unknown> {
  const seen: unknown[] = [];
  const look = async (attributes: { readonly object?: object }): Promise<void> => void seen.push(attributes.object);
  const scope = { info: { name: 'p', namespace: 'n', rest: '' }, params: new URLSearchParams(query), request: {} };
  const call = {
    store: { info: Pods, definition: { info: Pods }, groupResource: { group: '', resource: 'pods' } },
    scope,
    subresource: 'portforward',
    admission: { mutate: look, validate: look },
  } as unknown as Call;
  const connect = { serve: async () => ({ kind: 'bytes' }) } as unknown as ConnectSubresource;
  try {
    await serveConnect(call, connect);
    return (seen[0] as { readonly ports?: unknown }).ports;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

test('ports of a query are numbers, or the request is refused', async () => {
  const refused = (text: string, problem: string): string =>
    `400 cannot convert to []int32: strconv.ParseUint: parsing "${text}": ${problem}`;
  assert.deepEqual(await admitted('ports=80,443&ports=8080'), [80, 443, 8080]);
  assert.equal(await admitted('ports=a'), refused('a', 'invalid syntax'));
  assert.equal(await admitted('ports='), refused('', 'invalid syntax'));
  assert.equal(await admitted('ports=-1'), refused('-1', 'invalid syntax'));
  assert.equal(await admitted('ports=65536'), refused('65536', 'value out of range'));
  const long = '1'.repeat(400);
  assert.equal(await admitted(`ports=${long}`), refused(long, 'value out of range'));
});
