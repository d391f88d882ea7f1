import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../field-error.ts';
import { validateDeviceClass } from './resource-claim.ts';

for (const [name, isRefused] of [
  [undefined, false],
  ['example.com/gpu', false],
  ['', true],
  ['gpu', true],
  ['cpu', true],
  ['kubernetes.io/gpu', true],
  ['requests.example.com/gpu', true],
  ['example.com/a/b', true],
] as const)
  test(`a device class that stands for ${name ?? 'nothing'} is ${isRefused ? 'refused' : 'taken'}`, () => {
    const field = Field.root();
    const spec = name === undefined ? {} : { extendedResourceName: name };
    validateDeviceClass({ metadata: { name: 'c' }, spec }, field);
    assert.deepEqual(
      field.errors.map(({ field: at }) => at),
      isRefused ? ['spec.extendedResourceName'] : [],
    );
  });
