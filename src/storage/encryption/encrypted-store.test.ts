import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nodeCiphers } from '../../platform/node/ciphers.ts';
import { createNodeRandom } from '../../platform/node/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createMemoryStore } from '../memory/memory-store.ts';
import { describeStore } from '../store-suite.ts';
import { scanStore } from '../scan-store.ts';
import { prefixEnd, type Store, StoreError } from '../store.ts';
import { createEncryptedStore } from './encrypted-store.ts';
import { EncryptionConfigError, parseEncryptionConfig } from './encryption-config.ts';

const deps = { ciphers: nodeCiphers, random: createNodeRandom() };
const secret = (byte: number, length = 32): string => Buffer.alloc(length, byte).toString('base64');
const key = (name: string, byte = 1, length = 32): object => ({ name, secret: secret(byte, length) });
const config = (resources: string[], ...providers: object[]): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources, providers }],
  });
const parse = (...args: Parameters<typeof config>) => parseEncryptionConfig(config(...args), deps);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string => Buffer.from(value ?? []).toString();
const head = async (store: Store, name: string): Promise<string> =>
  text((await store.get(name))?.value).replace(/^((?:k8s:enc:\w+:v1:\w+:)?)[^]*$/, '$1');

for (const cipher of ['aescbc', 'aesgcm', 'secretbox'])
  describeStore(`memory store, encrypted by ${cipher}`, async () => {
    const clock = new VirtualClock();
    const store = createEncryptedStore(
      createMemoryStore({ clock }),
      parse(['*.*'], { [cipher]: { keys: [key('k')] } }),
    );
    return { store, clock };
  });

describe('encryption at rest', () => {
  const secretKey = '/registry/secrets/n/s';

  test('stored values have the prefix of their key and not the text; other resources are unchanged', async () => {
    const plain = createMemoryStore({ clock: new VirtualClock() });
    const keys = { keys: [key('key1'), key('key2', 2)] };
    const store = createEncryptedStore(
      plain,
      parse(['secrets', 'deployments.apps'], { aescbc: keys }, { identity: {} }),
    );
    for (const name of [secretKey, '/registry/deployments/n/d', '/registry/configmaps/n/c'])
      await store.put({ key: name, value: bytes('the text') });
    assert.equal(await head(plain, secretKey), 'k8s:enc:aescbc:v1:key1:');
    assert.equal(await head(plain, '/registry/deployments/n/d'), 'k8s:enc:aescbc:v1:key1:');
    assert.equal(text((await plain.get('/registry/configmaps/n/c'))?.value), 'the text');
    assert.ok(!text((await plain.get(secretKey))?.value).includes('the text'));
    await store.put({ key: secretKey, value: bytes('the text') });
    assert.equal(text((await store.get(secretKey))?.value), 'the text');
  });

  test('keys rotate: old values are decrypted, reported as stale, and encrypted again by a write', async () => {
    const plain = createMemoryStore({ clock: new VirtualClock() });
    await plain.put({ key: secretKey, value: bytes('v') });
    const store = createEncryptedStore(plain, parse(['secrets'], { identity: {} }));
    const seen: string[] = [];
    store.watch(
      { start: '/registry/', end: '/registry0', afterRevision: 1 },
      { onEvents: (events) => seen.push(...events.map(({ value }) => text(value))), onError: assert.fail },
    );
    const steps: [object[], string][] = [
      [[{ aesgcm: { keys: [key('one')] } }, { identity: {} }], 'k8s:enc:aesgcm:v1:one:'],
      [[{ aesgcm: { keys: [key('two', 2), key('one')] } }], 'k8s:enc:aesgcm:v1:two:'],
      [
        [{ secretbox: { keys: [key('three', 3)] } }, { aesgcm: { keys: [key('two', 2)] } }],
        'k8s:enc:secretbox:v1:three:',
      ],
      [[{ identity: {} }, { secretbox: { keys: [key('three', 3)] } }], ''],
    ];
    for (const [providers, want] of steps) {
      store.use(parse(['secrets'], ...providers));
      const { entries } = await store.range({ start: secretKey, end: '' });
      assert.equal(text(entries[0]?.value), 'v');
      assert.equal(store.isStale(secretKey), true, want);
      await store.put({ key: secretKey, value: bytes('v'), expectRevision: entries[0]!.modRevision });
      assert.equal(store.isStale(secretKey), false, want);
      assert.equal(await head(plain, secretKey), want);
    }
    assert.deepEqual(seen, ['v', 'v', 'v', 'v', 'v']);
  });

  test('a scan in pages reports stale values of all of them', async () => {
    const plain = createMemoryStore({ clock: new VirtualClock() });
    const names = ['a', 'b', 'c'].map((name) => `/registry/secrets/n/${name}`);
    for (const name of names) await plain.put({ key: name, value: bytes('v') });
    const store = createEncryptedStore(plain, parse(['secrets'], { aescbc: { keys: [key('k')] } }, { identity: {} }));
    const range = { start: '/registry/', end: prefixEnd('/registry/'), pageEntries: 1 };
    await scanStore(store, range, () => undefined);
    assert.deepEqual(
      names.map((name) => store.isStale(name)),
      [true, true, true],
    );
  });

  test('a value without its key, moved or changed is an error, never another value', async () => {
    const plain = createMemoryStore({ clock: new VirtualClock() });
    const store = createEncryptedStore(plain, parse(['secrets'], { aesgcm: { keys: [key('k')] } }));
    const failed = (error: unknown): boolean =>
      error instanceof StoreError &&
      error.code === 'corrupt' &&
      error.message.startsWith('cannot decrypt /registry/secrets/n/');
    await store.put({ key: secretKey, value: bytes('v') });
    const { value } = (await plain.get(secretKey))!;
    await plain.put({ key: '/registry/secrets/n/moved', value });
    await assert.rejects(store.get('/registry/secrets/n/moved'), failed);
    const changed = Uint8Array.from(value);
    changed[changed.length - 1]! ^= 1;
    await plain.put({ key: secretKey, value: changed });
    await assert.rejects(store.get(secretKey), failed);
    await assert.rejects(store.range({ start: '', end: '\u{10ffff}' }), failed);
    const ended = Promise.withResolvers<Error>();
    store.watch(
      { start: secretKey, end: '', afterRevision: 2 },
      { onEvents: () => assert.fail('nothing readable'), onError: ended.resolve },
    );
    assert.ok(failed(await ended.promise));
    store.use(parse(['configmaps'], { aesgcm: { keys: [key('k')] } }));
    await assert.rejects(store.get(secretKey), failed);
  });

  test('the first matching list counts; *. is the core group, *.apps a group, *.* everything', () => {
    const found = (resources: string[], name: string): boolean =>
      parse(resources, { identity: {} }).providersOf(name) !== undefined;
    const cases: [string[], string, boolean][] = [
      [['secrets'], 'secrets', true],
      [['secrets'], 'secrets.example.com', false],
      [['*.'], 'secrets', true],
      [['*.'], 'deployments.apps', false],
      [['*.apps'], 'deployments.apps', true],
      [['*.apps'], 'deployments.apps.example.com', false],
      [['*.*'], 'pandas.example.com', true],
    ];
    for (const [resources, name, want] of cases) assert.equal(found(resources, name), want, `${resources} ${name}`);
  });
});

test('an invalid configuration is reported with the place and the reason', () => {
  const one = (provider: object): string => config(['secrets'], provider);
  const cases: [string, RegExp][] = [
    ['{', /./],
    ['kind: Other', /it is no EncryptionConfiguration/],
    [config([], { identity: {} }), /^resources\[0\]\.resources: a list with at least one element/],
    [config(['Secrets'], { identity: {} }), /lower-case/],
    [config(['*'], { identity: {} }), /use \*\.\* for all/],
    [config(['secrets', 'secrets'], { identity: {} }), /was named before/],
    [config(['secrets', '*.'], { identity: {} }), /overlapping resources such as "secrets" and "\*\."/],
    [config(['*.apps', '*.*'], { identity: {} }), /overlapping/],
    [one({}), /does not contain any of the expected providers/],
    [one({ identity: {}, aescbc: {} }), /more than one provider/],
    [one({ kms: {} }), /kms providers are not supported/],
    [one({ aescbc: { keys: [] } }), /^resources\[0\]\.providers\[0\]\.aescbc\.keys: a list/],
    [one({ aescbc: { keys: [{ secret: secret(1) }] } }), /must contain a name/],
    [one({ aescbc: { keys: [key('a:b')] } }), /must not contain a colon/],
    [one({ aescbc: { keys: [key('a'), key('a')] } }), /duplicate name "a"/],
    [one({ aescbc: { keys: [{ name: 'a', secret: '%' }] } }), /must be base64 encoded/],
    [one({ aescbc: { keys: [key('a', 1, 31)] } }), /expected length, got 31, expected one of \[16 24 32\]/],
    [one({ secretbox: { keys: [key('a', 1, 16)] } }), /got 16, expected one of \[32\]/],
  ];
  for (const [file, message] of cases)
    assert.throws(
      () => parseEncryptionConfig(file, deps),
      (error) => error instanceof EncryptionConfigError && message.test(error.message),
      file,
    );
});
