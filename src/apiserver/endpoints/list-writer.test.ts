// Lists written item by item equal the list written at once, and yield between items.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringifyJson } from '../../api/codec/json.ts';
import type { JsonObject } from '../../api/codec/own-property.ts';
import { encodeProtobuf } from '../../api/codec/protobuf.ts';
import { stringifyYaml } from '../../api/codec/yaml-writer.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import type { MediaForm } from '../negotiation.ts';
import type { RequestScope } from '../request-scope.ts';
import { Turns } from '../turns.ts';
import { PIECE_LENGTH, writeItems } from './list-writer.ts';

/** Each reading of this clock is three milliseconds later, so that each item takes a turn. */
function countingTurns(): { turns: Turns; pauses: () => number } {
  let [nowMs, pauses] = [0, 0];
  const clock = {
    monotonicMs: () => (nowMs += 3),
    yield: () => Promise.resolve(void pauses++),
    turn: () => Promise.resolve(void pauses++),
  };
  return { turns: new Turns(clock as unknown as Clock), pauses: () => pauses };
}

const head = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: '7' } };
const schema = schemaOf('', 'v1', 'ConfigMapList')!;

const objects = (count: number, length: number): JsonObject[] =>
  Array.from({ length: count }, (_, i) => ({
    metadata: { name: `a${i}`, labels: { 'a b': 'c\nd' } },
    data: { text: `é "quoted"\n${'x'.repeat(length)}`, empty: '' },
  }));

const whole: Readonly<Record<string, (list: JsonObject, isPretty: boolean) => Uint8Array>> = {
  json: (list, isPretty) => Buffer.from(isPretty ? stringifyJson(list, 2) : `${stringifyJson(list)}\n`),
  protobuf: (list) => encodeProtobuf(schema, list),
  yaml: (list) => Buffer.from(stringifyYaml(list)),
};

for (const [serialization, encode] of Object.entries(whole)) {
  test(`a list in ${serialization} written item by item is the list written as a whole`, async () => {
    const form = { serialization } as MediaForm;
    for (const isPretty of [false, true])
      for (const [count, length] of [
        [0, 0],
        [1, 10],
        [40, 20_000],
      ] as const) {
        const items = objects(count, length);
        const request = { query: `pretty=${isPretty}`, headers: {} };
        const scope = { request } as RequestScope;
        const { turns, pauses } = countingTurns();
        const list = { head, key: 'items', count, item: (index: number) => items[index]! } as const;
        const pieces = await writeItems(list, { form, schema, scope, turns });
        const largest = Math.max(...pieces.map(({ byteLength }) => byteLength));
        assert.ok(serialization === 'protobuf' || largest < 2 * PIECE_LENGTH, `a piece of ${largest} bytes`);
        const expected = encode({ ...head, items }, isPretty);
        assert.equal(Buffer.compare(Buffer.concat(pieces), expected), 0, `${count} items, pretty: ${isPretty}`);
        assert.equal(pauses(), count);
      }
  });
}
