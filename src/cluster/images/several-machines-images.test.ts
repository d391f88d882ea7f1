import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Images } from './machine-images.ts';
import { SeveralMachinesImages } from './several-machines-images.ts';

const OUTCOME = { images: [{ name: 'a', digest: 'sha256:0' }], writtenBytes: 1, totalBytes: 1 };

function machine(load: Images['load']): Images {
  const none = async (): Promise<never> => Promise.reject(new Error('not asked for'));
  return { load, list: none, remove: none, pull: none, prune: none };
}

async function* chunks(): AsyncGenerator<Uint8Array> {
  for (const byte of [1, 2, 3]) yield Uint8Array.of(byte);
}

describe('images of several machines', () => {
  it('are imported on the others where the runtime of one does not answer', async () => {
    const read: number[] = [];
    const works = machine(async (shared) => {
      for await (const chunk of shared) read.push(...chunk);
      return OUTCOME;
    });
    const broken = machine(async () => Promise.reject(new Error('connect ENOENT')));
    await assert.rejects(new SeveralMachinesImages([works, broken, works]).load(chunks()), /connect ENOENT/);
    assert.deepEqual(read, [1, 1, 2, 2, 3, 3]);
  });

  it('wait for no machine that has read enough', async () => {
    const read: number[] = [];
    const works = machine(async (shared) => {
      for await (const chunk of shared) read.push(...chunk);
      return OUTCOME;
    });
    const ready = machine(async () => OUTCOME);
    assert.deepEqual(await new SeveralMachinesImages([ready, works]).load(chunks()), OUTCOME);
    assert.deepEqual(read, [1, 2, 3]);
  });
});
