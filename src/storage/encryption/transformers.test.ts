import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ciphers } from '../../platform/ciphers.ts';
import type { Random } from '../../platform/random.ts';
import { createTransformer } from './transformers.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const key = hex('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389');
const nonce = hex('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37');
const text = hex(
  'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f4' +
    '1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52' +
    'f0a089bc76897040e082f937763848645e0705',
);
const box = hex(
  'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b' +
    '4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da' +
    '99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5',
);

const none = new Uint8Array();
const secretbox = createTransformer(
  { ciphers: {} as Ciphers, random: { bytes: () => nonce } as unknown as Random },
  { cipher: 'secretbox', name: 'one', key },
);

test("a secretbox is NaCl's: its nonce, its tag and its text, byte for byte", () => {
  assert.equal(secretbox.prefix, 'k8s:enc:secretbox:v1:one:');
  const stored = Buffer.concat([nonce, box]);
  assert.deepEqual(Buffer.from(secretbox.encrypt(text, none)), stored);
  assert.deepEqual(Buffer.from(secretbox.decrypt(stored, none)), text);
});

test('a secretbox opens at any place of a larger buffer, as values stand behind their prefix', () => {
  for (let at = 0; at < 9; at++) {
    const stored = Buffer.concat([Buffer.alloc(at), nonce, box]).subarray(at);
    assert.deepEqual(Buffer.from(secretbox.decrypt(stored, none)), text);
  }
});

test('a secretbox of any length opens, and with any byte changed or missing it is refused', () => {
  for (const length of [0, 1, 15, 16, 31, 32, 33, 64, 95, 96, 97, 1000]) {
    const plain = new Uint8Array(length).map((_, at) => at);
    const sealed = secretbox.encrypt(plain, none);
    assert.deepEqual(new Uint8Array(secretbox.decrypt(sealed, none)), plain);
    for (const at of [0, 23, 24, 39, sealed.length - 1]) {
      const changed = Uint8Array.from(sealed);
      changed[at]! ^= 4;
      assert.throws(() => secretbox.decrypt(changed, none), /the key is wrong or the value was changed/, `byte ${at}`);
    }
  }
  for (const length of [0, 23, 24, 39]) {
    assert.throws(() => secretbox.decrypt(new Uint8Array(length), none), /the key is wrong or the value was changed/);
  }
});
