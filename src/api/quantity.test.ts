import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  parseQuantity,
  quantityMilliValue,
  quantityValue,
  QuantityError,
  subtractQuantities,
} from './quantity.ts';

test('quantities have one canonical text', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['0', '0'],
    ['0.5', '500m'],
    ['1024Mi', '1Gi'],
    ['1000m', '1'],
    ['1.5Gi', '1536Mi'],
    ['100Ki', '100Ki'],
    ['0.1Ki', '102400m'],
    ['512Ki', '512Ki'],
    ['1000', '1k'],
    ['1e3', '1e3'],
    ['12e6', '12e6'],
    ['1E', '1E'],
    ['-1.5', '-1500m'],
    ['0.0000000001', '1n'],
    ['+5', '5'],
    ['.5', '500m'],
    ['5.', '5'],
    ['1Ki', '1Ki'],
    ['0.5Ki', '512'],
    // Quantities with binary suffixes are limited to 2^63-1.
    ['8Ei', '9223372036854775807'],
    ['-10Ei', '-9223372036854775807'],
    ['10E', '10E'],
    ['-10E', '-10E'],
    ['9.3E', '9300P'],
    ['1e19', '10e18'],
    ['1.5e19', '15e18'],
    ['18446744073709551616', '18446744073709551616'],
    ['9223372036854775807.5', '9223372036854775807500m'],
    ['123456789012345678901', '123456789012345678901'],
    ['1e999', '1e999'],
    ['-9E999', '-9e999'],
    ['1e-999', '1e-9'],
  ];
  for (const [text, want] of cases) assert.equal(canonicalQuantity(text), want, text);
});

test('invalid quantities are refused', () => {
  for (const text of ['', 'a', '1x', '1 Gi', '1Gi1', '--1', '1.2.3', '.', 'Mi', '1e999999', '1KiB']) {
    assert.throws(() => parseQuantity(text), QuantityError, text);
  }
});

test('values round away from zero', () => {
  assert.equal(quantityValue('1500m'), 2);
  assert.equal(quantityValue('-1500m'), -2);
  assert.equal(quantityMilliValue('250m'), 250);
  assert.equal(quantityMilliValue('1u'), 1);
  assert.equal(quantityValue('1Gi'), 1073741824);
});

test('arithmetic and comparison are exact', () => {
  assert.equal(addQuantities('100m', '0.2'), '300m');
  assert.equal(addQuantities('1Gi', '512Mi'), '1536Mi');
  assert.equal(subtractQuantities('1', '100m'), '900m');
  assert.equal(addQuantities('0', '1Mi'), '1Mi');
  assert.equal(Math.sign(compareQuantities('1Gi', '1G')), 1);
  assert.equal(compareQuantities('1', '1000m'), 0);
});
