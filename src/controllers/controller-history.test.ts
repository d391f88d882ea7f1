import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControllerRevision } from '../api/gen/apps-v1.ts';
import { revisionsEqualTo, templatePatch } from './controller-history.ts';

const template = (last: string): { spec: { containers: { name: string; command: string[] }[] } } => ({
  spec: { containers: [{ name: 'c', command: Array.from({ length: 9000 }, (_, at) => (at === 8999 ? last : 'v')) }] },
});

test('revisions of large templates are compared in turns, and once', async () => {
  let reads = 0;
  const revision = (at: number): ControllerRevision => {
    const { containers } = template(`x${at}`).spec;
    const spec = Object.defineProperty({}, 'containers', { enumerable: true, get: () => (reads++, containers) });
    return { metadata: { name: `r${at}` }, revision: at, data: { spec: { template: { spec, $patch: 'replace' } } } };
  };
  const revisions = Array.from({ length: 20 }, (_, at) => revision(at));
  const current = template('x19');
  let pauses = 0;
  const found = async (): Promise<string[]> => {
    const names: string[] = [];
    const wanted: ControllerRevision = { metadata: {}, revision: 0, data: templatePatch(current as never) };
    for await (const { metadata } of revisionsEqualTo(revisions, wanted, async () => void pauses++))
      names.push(metadata.name ?? '');
    return names;
  };
  assert.deepEqual(await found(), ['r19']);
  assert.equal(pauses, 19);
  reads = 0;
  assert.deepEqual(await found(), ['r19']);
  assert.ok(reads <= 2, `${reads} templates compared again`);
});
