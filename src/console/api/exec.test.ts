import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf } from './exec.ts';

test('the status at the end of a stream states how the command ended', () => {
  const status = (more: object): string => JSON.stringify({ kind: 'Status', ...more });
  assert.deepEqual(endOf(status({ status: 'Success' })), { kind: 'success' });
  assert.deepEqual(
    endOf(
      status({
        status: 'Failure',
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: '130' }] },
      }),
    ),
    { kind: 'exit', code: '130' },
  );
  assert.deepEqual(endOf(status({ status: 'Failure', message: 'no such container' })), {
    kind: 'failed',
    message: 'no such container',
  });
  assert.deepEqual(endOf('not json'), { kind: 'failed', message: 'not json' });
});
