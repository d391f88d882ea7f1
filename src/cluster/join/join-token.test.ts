import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatJoinToken, parseJoinToken } from './join-token.ts';

const hash = 'ab'.repeat(32);
const TOKEN = 'abcdef.0123456789abcdef';

test('a secure token contains the hash of the authority and the credentials', () => {
  assert.deepEqual(parseJoinToken(formatJoinToken(hash, TOKEN)), { bootstrapToken: TOKEN, caHashes: [hash] });
});

test('a plain token needs a hash beside it', () => {
  assert.deepEqual(parseJoinToken(TOKEN, [`sha256:${hash.toUpperCase()}`]).caHashes, [hash]);
  assert.throws(() => parseJoinToken(TOKEN), /needs --discovery-token-ca-cert-hash/);
});

for (const [name, text, hashes] of [
  ['no token', 'password', []],
  ['an upper-case secret', 'abcdef.0123456789ABCDEF', []],
  ['a short hash', `K10ab::${TOKEN}`, []],
  ['a hash of another algorithm', TOKEN, ['sha1:ab']],
] as const)
  test(`refuses ${name} and does not repeat it`, () =>
    assert.throws(
      () => parseJoinToken(text, hashes),
      (error: Error) => !error.message.includes(text),
    ));
