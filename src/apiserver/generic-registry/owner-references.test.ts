import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { RequestContext } from '../request-context.ts';
import { dropDuplicateOwners } from './owner-references.ts';

const owner = (more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'Pod',
  name: 'a',
  uid: 'u',
  ...more,
});

function dropped(ownerReferences: OwnerReference[]): { kept: readonly OwnerReference[]; warnings: string[] } {
  const warnings: string[] = [];
  const draft = { metadata: { ownerReferences } };
  const context: Partial<RequestContext> = { addWarning: (text) => void warnings.push(text) };
  dropDuplicateOwners(draft, 'request', context as RequestContext);
  return { kept: draft.metadata.ownerReferences, warnings };
}

test('owners of one uid that differ in any field are kept, equal ones once', () => {
  const different = [
    owner(),
    owner({ name: 'b' }),
    owner({ kind: 'Node' }),
    owner({ apiVersion: 'v2' }),
    owner({ controller: false }),
    owner({ controller: true }),
    owner({ blockOwnerDeletion: false }),
  ];
  assert.deepEqual(dropped([...different]), { kept: different, warnings: [] });
  const { kept, warnings } = dropped([...different, owner(), owner({ name: 'b' })]);
  assert.deepEqual(kept, different);
  assert.match(warnings.join('\n'), /duplicate UID\(s\) observed: u, u$/);
});

test('each of thousands of owners is read a few times', () => {
  let reads = 0;
  const counted = Array.from({ length: 1000 }, (_, at) =>
    Object.defineProperty(owner(), 'name', { enumerable: true, get: () => (reads++, `${at}`) }),
  );
  assert.equal(dropped(counted).kept.length, 1000);
  assert.ok(reads <= 4 * 1000, String(reads));
});
