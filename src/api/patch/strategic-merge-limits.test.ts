// Patches of lists as large as a request permits. They took minutes when each element was compared with every other; these tests
// then did not end in time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../codec/own-property.ts';
import { schemaOf } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { strategicMergePatch } from './strategic-merge-patch.ts';

const COUNT = 40_000;
const pod = schemaOf('', 'v1', 'Pod') as StructSchema;
const numbered = <T>(make: (index: number) => T): T[] => Array.from({ length: COUNT }, (_, at) => make(at));
const withContainers = (containers: unknown[]): JsonObject => ({ spec: { containers } });

test('a long list of scalars is deleted from another', () => {
  const original = { metadata: { finalizers: ['kept', ...numbered((at) => `a${at}`)] } };
  const patch = { metadata: { '$deleteFromPrimitiveList/finalizers': ['absent', ...numbered((at) => `a${at}`)] } };
  assert.deepEqual(strategicMergePatch(original, patch, pod), { metadata: { finalizers: ['kept'] } });
});

test('a long list of elements is merged into another, and deleted from it', () => {
  const original = withContainers(numbered((at) => ({ name: `a${at}`, image: 'a' })));
  const isPatchedTo = (patch: unknown[], wanted: unknown[]): boolean =>
    isDeepStrictEqual(strategicMergePatch(original, withContainers(patch), pod), withContainers(wanted));
  const change = numbered((at) => ({ name: `a${at}`, tty: true }));
  assert(
    isPatchedTo(
      change,
      numbered((at) => ({ name: `a${at}`, image: 'a', tty: true })),
    ),
  );
  const deletions = numbered((at) => ({ name: `a${at}`, $patch: 'delete' }));
  const others = numbered((at) => ({ name: `b${at}`, image: 'a' }));
  assert(isPatchedTo(deletions, []));
  assert(isPatchedTo([...deletions, ...others], others));
});

test('elements are merged into the first element of the same key, also when the patch repeats the key', () => {
  const patched = strategicMergePatch(
    withContainers([{ name: 'a' }, { name: 'a', image: 'other' }]),
    withContainers([
      { name: 'b', tty: true },
      { name: 'a', image: 'new' },
      { name: 'b', image: 'b' },
    ]),
    pod,
  );
  assert.deepEqual(patched.spec, {
    containers: [
      { name: 'b', tty: true, image: 'b' },
      { name: 'a', image: 'new' },
      { name: 'a', image: 'other' },
    ],
  });
});

test('a patch that merges thousands of changes into one large element is refused', () => {
  const refused = { name: 'PatchError', code: 413, message: /fields and elements that a strategic merge patch copies/ };
  const env = numbered((at) => ({ name: `e${at}`, value: 'a' }));
  const changes = numbered(() => ({ name: 'a', env: [{ name: 'e0', value: 'b' }] }));
  const large = withContainers([{ name: 'a', env, args: numbered((at) => `a${at}`) }]);
  assert.throws(() => strategicMergePatch(large, withContainers(changes), pod), refused);
  const deletions = numbered(() => ({ name: 'a', '$deleteFromPrimitiveList/args': [] }));
  assert.throws(() => strategicMergePatch(large, withContainers(deletions), pod), refused);
});
