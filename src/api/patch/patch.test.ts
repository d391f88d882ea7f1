import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../codec/own-property.ts';
import { schemaOf } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { jsonPatch } from './json-patch.ts';
import { mergePatch } from './merge-patch.ts';
import { freeze } from './patch-fixture.ts';
import { strategicMergePatch } from './strategic-merge-patch.ts';

test('JSON patch operations change documents as RFC 6902 specifies', () => {
  const cases: [unknown, unknown[], unknown][] = [
    [{ a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    [{ a: [1, 2] }, [{ op: 'add', path: '/a/1', value: 9 }], { a: [1, 9, 2] }],
    [{ a: [1, 2] }, [{ op: 'add', path: '/a/-', value: 9 }], { a: [1, 2, 9] }],
    [{ a: [1, 2] }, [{ op: 'remove', path: '/a/-1' }], { a: [1] }],
    [
      { a: { 'x/y': 1, '~': 2 } },
      [
        { op: 'remove', path: '/a/x~1y' },
        { op: 'replace', path: '/a/~0', value: null },
      ],
      { a: { '~': null } },
    ],
    [{ a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
    [{}, [{ op: 'replace', path: '/a', value: 1 }], { a: 1 }],
    [{}, [{ op: 'copy', from: '/x', path: '/a' }], { a: null }],
    [
      { a: { b: [1] } },
      [
        { op: 'copy', from: '/a', path: '/c' },
        { op: 'add', path: '/c/b/-', value: 2 },
      ],
      { a: { b: [1] }, c: { b: [1, 2] } },
    ],
    [{ a: { b: 1, c: 2 } }, [{ op: 'test', path: '/a', value: { c: 2, b: 1 } }], { a: { b: 1, c: 2 } }],
    [{}, [{ op: 'test', path: '/a', value: null }], {}],
    [{ a: 1 }, [{ op: 'replace', path: '', value: { b: 1 } }], { b: 1 }],
    [{ a: 1 }, [{ op: 'replace', path: '', value: 'b' }], { a: 1 }],
    [{ a: [null] }, [{ op: 'test', path: '/a/0', value: null }], { a: [null] }],
  ];
  for (const [original, patch, want] of cases)
    assert.deepEqual(jsonPatch(freeze(original), freeze(patch)), want, JSON.stringify(patch));
});

test('JSON patches that cannot be applied are refused', () => {
  const cases: [unknown, unknown, string][] = [
    [{ a: 1 }, [{ op: 'test', path: '/a', value: 2 }], 'testing value /a failed: test failed'],
    [
      { a: [1] },
      [{ op: 'test', path: '/a/1', value: null }],
      "error in test for path: '/a/1': Unable to access invalid index: 1: invalid index referenced",
    ],
    [
      { a: [1] },
      [{ op: 'test', path: '/a/b', value: null }],
      `error in test for path: '/a/b': strconv.Atoi: parsing "b": invalid syntax`,
    ],
    [
      { a: 1 },
      [{ op: 'add', path: '', value: {} }],
      'add operation does not apply: doc is missing path: "": missing value',
    ],
    [
      { a: 1 },
      [{ op: 'copy', from: '', path: '/b' }],
      'copy operation does not apply: doc is missing from path: : missing value',
    ],
    [
      { a: {} },
      [{ op: 'move', from: '/a', path: '' }],
      'move operation does not apply: doc is missing destination path: : missing value',
    ],
    [
      {},
      [{ op: 'add', path: '/a/b', value: 2 }],
      'add operation does not apply: doc is missing path: "/a/b": missing value',
    ],
    [
      {},
      [{ op: 'remove', path: '/a' }],
      "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value",
    ],
    [
      { a: [] },
      [{ op: 'replace', path: '/a/0', value: 1 }],
      'replace operation does not apply: doc is missing key: /a/0: missing value',
    ],
    [
      { a: [] },
      [{ op: 'add', path: '/a/5', value: 1 }],
      "error in add for path: '/a/5': Unable to access invalid index: 5: invalid index referenced",
    ],
    [
      { x: [] },
      [{ op: 'copy', from: '/x/0', path: '/a' }],
      "error in copy for from: '/x/0': unable to get nonexistent key: 0: missing value",
    ],
    [
      {},
      [{ op: 'move', from: '/a/b', path: '/c' }],
      'move operation does not apply: doc is missing from path: /a/b: missing value',
    ],
    [
      { a: 1 },
      [{ op: 'copy', from: '/a', path: '/b/c' }],
      'copy operation does not apply: doc is missing destination path: /b/c: missing value',
    ],
    [
      {},
      [{ op: 'test', path: '/a/b', value: 1 }],
      'test operation does not apply: is missing path: /a/b: missing value',
    ],
    [{}, [{ op: 'jump', path: '/a' }], 'Unexpected kind: jump'],
    [
      {},
      [{ op: 'remove', path: '/constructor' }],
      "error in remove for path: '/constructor': Unable to remove nonexistent key: constructor: missing value",
    ],
  ];
  for (const [original, patch, message] of cases)
    assert.throws(() => jsonPatch(original, patch), { name: 'PatchError', message });
});

test('merge patches change documents as RFC 7386 specifies', () => {
  const cases: [unknown, unknown, unknown][] = [
    [
      { a: 1, b: { c: 1, d: 2 } },
      { b: { c: null, e: 3 }, f: { g: null, h: 1 } },
      { a: 1, b: { d: 2, e: 3 }, f: { h: 1 } },
    ],
    [{ a: [1] }, { a: [2] }, { a: [2] }],
    [{ a: 1 }, { a: { b: 1 } }, { a: { b: 1 } }],
    [1, {}, {}],
    // Nulls inside lists, as evanphx/json-patch handles them.
    [{}, { a: [null, { b: null, c: [{ d: null }] }] }, { a: [null, { c: [{}] }] }],
    [{ a: [1] }, { a: [{ b: null }] }, { a: [{}] }],
    [{ a: null }, { a: [{ b: null }] }, { a: [{}] }],
    [{ a: { b: 1 } }, { a: [{ b: null }] }, { a: [{ b: null }] }],
  ];
  for (const [original, patch, want] of cases) assert.deepEqual(mergePatch(freeze(original), freeze(patch)), want);
});

test('a patch cannot change a prototype through __proto__', () => {
  const evil = JSON.parse('{"metadata":{"annotations":{"__proto__":{"polluted":1}}}}') as JsonObject;
  const pod = schemaOf('', 'v1', 'Pod') as StructSchema;
  const results = [
    mergePatch({ metadata: { annotations: {} } }, evil),
    strategicMergePatch({ metadata: { annotations: { a: 'b' } } }, evil, pod),
    jsonPatch({ metadata: { annotations: {} } }, [
      { op: 'add', path: '/metadata/annotations/__proto__', value: { polluted: 1 } },
    ]),
  ];
  for (const result of results) {
    const { annotations } = (result as { metadata: { annotations: object } }).metadata;
    assert.equal(Object.getPrototypeOf(annotations), Object.prototype);
    assert.ok(Object.hasOwn(annotations, '__proto__'));
  }
  assert.throws(() => jsonPatch({ a: {} }, [{ op: 'add', path: '/a/__proto__/x', value: 1 }]), { name: 'PatchError' });
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});
