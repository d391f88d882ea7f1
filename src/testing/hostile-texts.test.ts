/** Texts of half a million characters for which patterns that backtrack take minutes or longer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../api/field-error.ts';
import { parseJsonPath } from '../api/json-path.ts';
import { validateFieldManager } from '../api/meta-validation.ts';
import { tryParseQuantity } from '../api/quantity.ts';
import { validateSecret } from '../api/validation/config.ts';
import { validateCanonicalCidr } from '../api/validation/ip-fields.ts';
import { validatePersistentVolume } from '../api/validation/persistent-volume.ts';
import { seenPage } from '../apiserver/streaming/proxied-page.ts';
import { trimEndOf } from '../base/trim-end.ts';
import { certificateBlocks } from '../platform/certificate-blocks.ts';

const MANY = 500_000;
const errorsOf = (validate: (field: Field) => void): string[] => {
  const field = Field.root();
  validate(field);
  return field.errors.map(({ reason }) => reason);
};

test('quantities', () => {
  for (const text of [`${'1'.repeat(MANY)}x`, `${'.'.repeat(MANY)}x`, `1${'E'.repeat(MANY)}x`, `-${'0'.repeat(MANY)}-`])
    assert.equal(tryParseQuantity(text), undefined);
});

test('names of field managers', () => {
  const reasons = errorsOf((field) => validateFieldManager('\x7F'.repeat(MANY), field));
  assert.deepEqual(reasons, ['FieldValueTooLong']);
});

test('paths of recycled volumes', () => {
  const spec = (path: string) => ({ persistentVolumeReclaimPolicy: 'Recycle', hostPath: { path } }) as const;
  const forbidden = (path: string): boolean =>
    errorsOf((field) => validatePersistentVolume({ metadata: { name: 'a' }, spec: spec(path) }, field)).includes(
      'FieldValueForbidden',
    );
  assert.equal(forbidden(`${'/'.repeat(MANY)}x`), false);
  for (const root of ['/', '//', '/./', '/a/..', '/a/../b/../', '/..']) assert.equal(forbidden(root), true, root);
  for (const other of ['/a', '/a/.', '/a/../b', 'a/..']) assert.equal(forbidden(other), false, other);
});

test('addresses, data in base64, authorities, paths of columns', () => {
  assert.deepEqual(
    errorsOf((field) => validateCanonicalCidr(`${'0'.repeat(MANY)}x`, field)),
    ['FieldValueInvalid'],
  );
  assert.deepEqual(
    errorsOf((field) => validateCanonicalCidr(`${'0:'.repeat(MANY)}/0`, field)),
    ['FieldValueInvalid'],
  );
  const data = { a: `${'='.repeat(MANY)}x` };
  errorsOf((field) => validateSecret({ metadata: { name: 'a' }, type: 'Opaque', data }, field));
  assert.throws(() => certificateBlocks(`-----BEGIN CERTIFICATE-----${' '.repeat(MANY)}x`), /cut off/);
  assert.doesNotThrow(() => parseJsonPath(`{.a[?(@.b${' '.repeat(MANY)}==${' '.repeat(MANY)}1)]}`));
  assert.equal(trimEndOf(`${'/'.repeat(MANY)}x//`, '/'), `${'/'.repeat(MANY)}x`);
});

test('pages of pods', async () => {
  const place = { origin: 'https://a', prefix: '/p', source: 'http://b/' };
  const seen = async (text: string): Promise<string> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of seenPage(
      (async function* () {
        yield Buffer.from(text);
      })(),
      place,
    ))
      chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  for (const text of [`<${'a'.repeat(MANY)}`, `${'<a "'.repeat(MANY / 4)}`, `<a ${'x=" '.repeat(MANY / 4)}`])
    assert.equal(await seen(text), text);
  assert.equal(await seen('<a href="/x">y</a>'), '<a href="https://a/p/x">y</a>'.replace('https://a', ''));
});
