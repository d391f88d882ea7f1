import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LimitRanges } from '../../api/gen/resources.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Client } from '../../client/client.ts';
import { Evidence } from '../evidence.ts';
import { quotaCauses } from './quotas.ts';

/** Codes and messages for pods with these requests, in a namespace with one quota. */
async function codesOf(
  hard: Record<string, string>,
  used: Record<string, string>,
  given: { readonly requests?: Record<string, string>; readonly limitRanges?: number; readonly scopes?: string[] } = {},
) {
  const quota = {
    metadata: { name: 'q', namespace: 'n' },
    spec: { hard, scopes: given.scopes },
    status: { hard, used },
  };
  const list = (info: ResourceInfo) =>
    Promise.resolve({
      items: info === LimitRanges ? Array.from({ length: given.limitRanges ?? 0 }, () => ({ metadata: {} })) : [quota],
      metadata: {},
    });
  const client = { resource: (info: ResourceInfo) => ({ list: () => list(info) }) } as unknown as Client;
  const explain = () => Promise.reject(new Error('nothing else is read'));
  const evidence = new Evidence({ client, nowMs: 0, explain });
  const template = { spec: { containers: [{ name: 'web', image: 'web:1', resources: { requests: given.requests } }] } };
  return (await quotaCauses('n', template, evidence)).map(({ code, message }) => `${code} ${message}`);
}

test("a quota is a cause only when a pod's request exceeds it or is missing", async () => {
  const rows: readonly (readonly [Parameters<typeof codesOf>, readonly RegExp[]])[] = [
    [[{ pods: '2' }, { pods: '2' }], [/^QuotaUsedUp .*pods 2 of 2, a pod takes 1/]],
    [[{ pods: '2' }, { pods: '1' }], []],
    [[{ 'requests.cpu': '1' }, { 'requests.cpu': '0' }], [/^QuotaNeedsValues /]],
    [[{ 'requests.cpu': '1' }, { 'requests.cpu': '1' }, { limitRanges: 1 }], []],
    [
      [{ 'requests.cpu': '1' }, { 'requests.cpu': '800m' }, { requests: { cpu: '300m' } }],
      [/^QuotaUsedUp .*requests.cpu 800m of 1, a pod takes 300m/],
    ],
    [[{ configmaps: '1', 'count/jobs.batch': '0' }, { configmaps: '1' }], []],
    [[{ pods: '0' }, { pods: '0' }, { scopes: ['Terminating'] }], []],
  ];
  for (const [[hard, used, given], expected] of rows) {
    const codes = await codesOf(hard, used, given);
    assert.equal(codes.length, expected.length, `${JSON.stringify([hard, used, given])}: ${codes.join()}`);
    for (const [index, pattern] of expected.entries()) assert.match(codes[index]!, pattern);
  }
});
