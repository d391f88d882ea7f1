import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMapPayload, downwardPayload, secretPayload } from './projected-content.ts';

/** Counts the values that are read. */
function counted(entries: [string, string][]) {
  const reads = { count: 0 };
  const data = new Proxy<Record<string, string>>(Object.fromEntries(entries), {
    get(target, key) {
      reads.count++;
      return Reflect.get(target, key) as unknown;
    },
  });
  return { data, reads };
}

const selection = { items: [{ key: 'k7', path: 'a/./b' }], defaultMode: 0o644, optional: false };

test('of thousands of keys those that are named are decoded', () => {
  const { data, reads } = counted(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, 'dmFsdWU=']));
  assert.equal(String(secretPayload({ metadata: {}, data }, selection).get('a/b')?.data), 'value');
  assert.equal(String(configMapPayload({ metadata: {}, binaryData: data }, selection).get('a/b')?.data), 'value');
  assert.equal(String(configMapPayload({ metadata: {}, data }, selection).get('a/b')?.data), 'dmFsdWU=');
  assert.ok(reads.count < 10, `${reads.count} values read`);
});

test('without items all keys are files, and a key that is required and missing is an error', () => {
  const all = { ...selection, items: [] };
  const map = { metadata: {}, data: { a: '1' }, binaryData: { b: 'Mg==' } };
  const payload = [...configMapPayload(map, all)].map(([path, { data }]) => [path, String(data)]);
  assert.deepEqual(payload, [
    ['a', '1'],
    ['b', '2'],
  ]);
  const none = { metadata: {}, data: {} };
  assert.throws(() => configMapPayload(none, selection), /configmap references non-existent config key: k7/);
  assert.throws(
    () => secretPayload(none, { ...selection, items: [{ key: 'constructor', path: 'c' }] }),
    /non-existent secret key/,
  );
  assert.equal(configMapPayload(none, { ...selection, optional: true }).size, 0);
});

test('files of one value share its bytes, also those of other sources', () => {
  const items = ['a', 'b'].map((path) => ({ key: 'k', path }));
  const object = { metadata: {}, data: { k: 'dmFsdWU=' } };
  for (const read of [configMapPayload, secretPayload]) {
    const payloads = [read(object, { ...selection, items }), read(object, { ...selection, items })];
    assert.equal(new Set(payloads.flatMap((payload) => [...payload.values()].map(({ data }) => data))).size, 1);
  }
  const pod = { metadata: { annotations: { a: 'v' } } };
  const node = { nodeName: 'n', hostIps: [], allocatable: {} };
  const read = () =>
    downwardPayload({
      items: ['a', 'b'].map((path) => ({ path, fieldRef: { fieldPath: 'metadata.annotations' } })),
      pod,
      node,
      defaultMode: 0o644,
    });
  const [files, ofAnotherSource] = [read(), read()];
  assert.deepEqual(
    [...files].map(([path, { data }]) => [path, String(data)]),
    [
      ['a', 'a="v"'],
      ['b', 'a="v"'],
    ],
  );
  assert.equal(new Set([...files.values(), ...ofAnotherSource.values()].map(({ data }) => data)).size, 1);
});
