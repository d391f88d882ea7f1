import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateSecret } from './config.ts';
import { complaints } from './complaints-fixture.ts';

test('a secret must have the keys that its type requires', () => {
  assert.deepEqual(
    complaints((field) => validateSecret({ metadata: {}, type: 'kubernetes.io/tls', data: {} }, field)),
    ['data[tls.crt]: Required value', 'data[tls.key]: Required value'],
  );
});
