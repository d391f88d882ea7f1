/** Keys in the text of a configuration, and the keys of stored values. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInProcessClient } from '../../../client/in-process-transport.ts';
import type { Clock } from '../../../platform/clock.ts';
import { createNodeCrypto } from '../../../platform/node/crypto.ts';
import { createSeededRandom } from '../../../platform/sim/random.ts';
import { createSimPlatform } from '../../../platform/sim/sim-platform.ts';
import { parseEncryptionConfig } from '../../../storage/encryption/encryption-config.ts';
import { PreflightError } from '../../preflight-error.ts';
import { keyNames, withFirstKey, withOnlyKey } from './edit-keys.ts';
import { rotateKeys } from './rotate-keys.ts';
import { storedKeys } from './stored-keys.ts';

const secretOf = (fill: number): string => Buffer.alloc(32, fill).toString('base64');
const TEXT = `# ours
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - aescbc:
      keys:
      - {name: old, secret: ${secretOf(1)}} # of 2025
  - secretbox:
      keys: [{name: older, secret: ${secretOf(2)}}]
  - identity: {}
- resources: ['*.apps']
  providers:
  - aesgcm:
      keys:
      - name: old
        secret: ${secretOf(3)}
`;
const key = { name: 'new', secret: secretOf(9) };
const parse = (text: string) =>
  parseEncryptionConfig(text, { ciphers: createNodeCrypto().ciphers!, random: createSeededRandom(1) });

/** Nothing may be written through it. */
const clientOf = (clock: Clock) =>
  createInProcessClient({
    handler: () => Promise.reject(new Error('the server is not asked')),
    principal: { name: 'test', groups: [] },
    clock,
    userAgent: 'test',
  });

test('a new key is the first of every rule, once, and the rest of the text stays', () => {
  const text = withFirstKey(TEXT, key);
  assert.match(text, /^# ours\n/);
  assert.match(text, /# of 2025/);
  assert.deepEqual(keyNames(text), ['new', 'old', 'older']);
  for (const resource of ['secrets', 'deployments.apps'])
    assert.match(parse(text).providersOf(resource)![0]!.prefix, /:new:$/);
  assert.equal(withFirstKey(text, { ...key, secret: secretOf(8) }), text, 'a second call changes nothing');
});

test('with one key alone, providers of other keys go and identity stays', () => {
  const text = withOnlyKey(withFirstKey(TEXT, key), 'new');
  assert.deepEqual(keyNames(text), ['new']);
  assert.deepEqual(
    parse(text)
      .providersOf('secrets')!
      .map(({ prefix }) => prefix),
    ['k8s:enc:aescbc:v1:new:', ''],
  );
  assert.equal(withOnlyKey(text, 'new'), text);
});

test('a key becomes the only one only where every rule writes with it: values of the other key would be lost', () => {
  const text = withFirstKey(TEXT, key);
  const other = withFirstKey(text, { name: 'by-hand', secret: secretOf(7) });
  assert.throws(() => withOnlyKey(other, 'new'), /resources\[0\]: new is not its first key any more/);
  const more = `${text}  - resources: [configmaps]\n    providers: [{aescbc: {keys: [{name: theirs, secret: ${secretOf(6)}}]}}]\n`;
  assert.throws(() => withOnlyKey(more, 'new'), /resources\[2\]: new is not its first key/);
});

test('a rotation that was cut short drops nothing where another key was put first meanwhile', async () => {
  const { files, clock } = createSimPlatform();
  const platform = { files, clock, crypto: createNodeCrypto(), random: createSeededRandom(1) };
  const text = withFirstKey(withFirstKey(TEXT, key), { name: 'by-hand', secret: secretOf(7) });
  const state = { key: 'new', stage: 'rewriting', time: '2026-01-01T00:00:00Z' };
  await files.makeDir('/data');
  await files.writeFile('/keys.yaml', text);
  await files.writeFile('/data/encryption-rotation.json', JSON.stringify(state));
  const writer = parse(text).providersOf('secrets')![0]!;
  const path = '/registry/secrets/a/b';
  const value = Buffer.concat([Buffer.from(writer.prefix), writer.encrypt(Buffer.from('one'), Buffer.from(path))]);
  const read = async () => [{ key: path, value, modRevision: 1, createRevision: 1 }];
  const client = clientOf(clock);
  const rotating = rotateKeys(
    { platform, client, read, report: () => undefined },
    { file: '/keys.yaml', dataDir: '/data' },
  );
  await assert.rejects(rotating, /\/keys.yaml: resources\[0\]: new is not its first key any more/);
  assert.equal(await files.readText('/keys.yaml'), text);
});

test('a file that does not read the store is not changed', async () => {
  for (const name of ['elsewhere', 'old']) await refused(name);
});

async function refused(name: string): Promise<void> {
  const { files, clock } = createSimPlatform();
  const platform = { files, clock, crypto: createNodeCrypto(), random: createSeededRandom(1) };
  await files.makeDir('/data');
  await files.writeFile('/keys.yaml', TEXT);
  const value = Buffer.from(`k8s:enc:aescbc:v1:${name}:0123456789abcdef0123456789abcdef`);
  const read = async () => [{ key: '/registry/secrets/a/b', value, modRevision: 1, createRevision: 1 }];
  const client = clientOf(clock);
  const rotating = rotateKeys(
    { platform, client, read, report: () => undefined },
    { file: '/keys.yaml', dataDir: '/data' },
  );
  await assert.rejects(rotating, PreflightError);
  assert.equal(await files.readText('/keys.yaml'), TEXT);
  assert.equal(await files.exists('/data/encryption-rotation.json'), false);
}

test('a rule whose first provider does not encrypt has no key to rotate', () => {
  const identity = `resources:\n- resources: [secrets]\n  providers: [{identity: {}}, {aescbc: {keys: [{name: a, secret: x}]}}]\n`;
  assert.throws(() => withFirstKey(identity, key), /resources\[0\]: its first provider is none of aescbc/);
});

test('values are counted by their key; a value with another than the current write key is stale', () => {
  const [before, after] = [parse(TEXT), parse(withFirstKey(TEXT, key))];
  const entry = (path: string, text: string, config?: typeof before) => {
    const writer = config?.providersOf('secrets')?.[0];
    const value = Buffer.from(text);
    const sealed = writer && Buffer.concat([Buffer.from(writer.prefix), writer.encrypt(value, Buffer.from(path))]);
    return { key: path, value: sealed ?? value, modRevision: 1, createRevision: 1 };
  };
  const entries = [
    entry('/registry/secrets/a/old', 'one', before),
    entry('/registry/secrets/a/new', 'two', after),
    entry('/registry/secrets/a/plain', 'three'),
    entry('/registry/configmaps/a/b', 'four'),
  ];
  const { counts, stale, fresh } = storedKeys(entries, after);
  assert.equal(fresh, 1);
  assert.deepEqual(
    stale.map(({ key: path, value }) => [path, Buffer.from(value).toString()]),
    [
      ['/registry/secrets/a/old', 'one'],
      ['/registry/secrets/a/plain', 'three'],
    ],
  );
  assert.deepEqual([...counts.values()], [1, 1, 1]);
  assert.throws(
    () => storedKeys(entries, parse(withOnlyKey(withFirstKey(TEXT, key), 'new'))),
    /no key of the file reads/,
  );
});
