/** Keys in the text of a configuration, and what of a store is written with which. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNodeCrypto } from '../../../platform/node/crypto.ts';
import { createSeededRandom } from '../../../platform/sim/random.ts';
import { parseEncryptionConfig } from '../../../storage/encryption/encryption-config.ts';
import { keyNames, withFirstKey, withOnlyKey } from './edit-keys.ts';
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

test('a rule whose first provider does not encrypt has no key to rotate', () => {
  const identity = `resources:\n- resources: [secrets]\n  providers: [{identity: {}}, {aescbc: {keys: [{name: a, secret: x}]}}]\n`;
  assert.throws(() => withFirstKey(identity, key), /resources\[0\]: its first provider is none of aescbc/);
});

test('values are counted by their key; what writes would not make now is stale', () => {
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
