/** Objects and requests for tests of fields that the server sets. */
import assert from 'node:assert/strict';
import type { TestServer } from '../server-fixture.ts';

export type Body = Awaited<ReturnType<TestServer['send']>>['body'];

export const JSON_BODY = { 'content-type': 'application/json' };
export const DRY = '?dryRun=All';
export const container = { name: 'c', image: 'i' };
export const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } };
export const selector = { matchLabels: { a: 'b' } };

export const pathOf = (group: string, resource: string): string => `/${group}/namespaces/default/${resource}`;

/** Creates an object and returns the response; fails when it is refused. */
export async function created(server: TestServer, path: string, object: object): Promise<Body> {
  const { status, text, body } = await server.send('POST', path, object, JSON_BODY);
  assert.equal(status, 201, text);
  return body;
}
