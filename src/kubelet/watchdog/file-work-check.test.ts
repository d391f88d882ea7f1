import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FileStat } from '../../platform/files.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createFileWorkCheck } from './file-work-check.ts';

describe('the check of file work', () => {
  it('reports a call that does not return, one at a time, and recovers when it returns', async () => {
    const clock = new VirtualClock();
    const calls: PromiseWithResolvers<FileStat>[] = [];
    const files = {
      lstat() {
        const call = Promise.withResolvers<FileStat>();
        calls.push(call);
        return call.promise;
      },
    };
    const check = createFileWorkCheck({ files, clock }, '/var');
    assert.equal(check.problem(), undefined);
    await clock.advance(4000);
    assert.equal(check.problem(), undefined);
    await clock.advance(2000);
    assert.equal(check.problem(), 'file work: a call has not returned for 6 s');
    assert.equal(calls.length, 1);
    calls[0]!.reject(new Error('gone'));
    await clock.advance(1);
    assert.equal(check.problem(), undefined);
    assert.equal(calls.length, 2);
  });
});
