/**
 * Keelson refuses what an API server of v1.36 refuses, with the same errors in the same order. tools/upstream-refusals generates
 * the table from both servers.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { startWithAll } from '../all-resources-fixture.ts';
import { Asker, type Send } from './asker-fixture.ts';
import { changed } from './changes-fixture.ts';
import { readSamples, type Sample, type Verb, whole } from './samples-fixture.ts';
import { readTable, type Row } from './table-fixture.ts';

const rows = Map.groupBy(readTable(), ({ sample }) => sample);

describe('refusals of built-in kinds', () => {
  let ask: (sample: Sample, verb: Verb, own: readonly Row[]) => Promise<void>;

  before(async () => {
    const { send, storage } = await startWithAll([], 'api/all=true');
    const infos = [...storage.registry.served].map(({ info }) => info);
    const local: Send = async (method, path, body) => {
      const { status, body: answer } = await send(method, path, body, { 'content-type': 'application/json' });
      return { status, body: answer };
    };
    ask = async (sample, verb, own) => {
      const asker = new Asker(local, infos);
      await asker.prepare(sample, verb);
      for (const { change, complaints } of own) {
        const { causes = [] } = await asker.ask(sample, verb, changed(whole(sample), change));
        assert.deepEqual(causes, complaints, `${verb} ${JSON.stringify(change)}`);
      }
      await asker.remove(sample);
    };
  });

  for (const sample of readSamples())
    it(sample.name, async () => {
      for (const verb of ['create', 'update', 'status'] as const) {
        const own = (rows.get(sample.name) ?? []).filter((row) => row.verb === verb);
        if (own.length > 0) await ask(sample, verb, own);
      }
    });
});
