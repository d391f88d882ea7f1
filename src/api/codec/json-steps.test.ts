import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { allSteps } from '../../base/steps.ts';
import { jsonSteps } from './json-steps.ts';
import { JsonSyntaxError, MAX_DEPTH } from './json-parser.ts';
import { parseJson } from './json.ts';

const read = (text: string): unknown => allSteps(jsonSteps(text, { maxParts: Infinity }));

function stepsOf(text: string): number {
  const steps = jsonSteps(text, { maxParts: Infinity });
  for (let count = 1; ; count++) if (steps.next().done === true) return count;
}

const long = 'x'.repeat(50_000);
const many = (item: string, count = 20_000): string => Array.from({ length: count }, () => item).join(',');

describe('JSON is parsed in steps', () => {
  test('large documents have the same value as with JSON.parse', () => {
    const texts = [
      `[${many('1')}]`,
      `{"a":[${many('{"b":[1,{}]}')}],"b":"${long}","${long}":[${many('"}"')}]}`,
      ` [ [ ${many(' { } ')} ] , "${long}" , 12345678901234567890123 , true , null , -1.5e3 ] `,
      `{"__proto__":{"a":[${many('"\\\\\\""')}]},"constructor":1}`,
      `${'['.repeat(500)}${many('[]')}${']'.repeat(500)}`,
      `"${long}\\u0041"`,
      `{"a":1,"a":[${many('9007199254740993')}],"a":[${many('2')}]}`,
    ];
    for (const text of texts) assert.deepEqual(read(text), parseJson(text).value);
  });

  test('documents that strings and lists around them make large are parsed', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(long, '\\"'.repeat(20_000), ''), (json, text) => {
        const large = `{"a":[${many(json, 300)}, ${json} ],"${text}":${json},"c":"${text}${long}"}`;
        assert.deepEqual(read(large), parseJson(large).value);
      }),
      { numRuns: 50, seed: 1 },
    );
  });

  test('no step reads much more than one piece', () => {
    assert.ok(stepsOf(`[${many('[]', 1_000_000)}]`) > 50);
    assert.ok(stepsOf(`{"a":{"b":[${many('[]', 1_000_000)}]}}`) > 50);
  });

  test('invalid JSON is refused at any position', () => {
    const items = many('1', 40_000);
    const broken = [
      `[${items}`,
      `[${items}]]`,
      `[${items},]`,
      `[,${items}]`,
      `[${items}}`,
      `{"a":[${items}],}`,
      `{"a":[${items}]`,
      `{"a" [${items}]}`,
      `{a:[${items}]}`,
      `[${items} 1]`,
      `[${items},{]}`,
      `[${items},"${long}]`,
      `["${long}\n"]`,
      `[${'1'.repeat(100_000)}]`,
      `${' '.repeat(100_000)}`,
      `${'['.repeat(100_000)}`,
      `{"a":`.repeat(100_000),
    ];
    for (const text of broken) assert.throws(() => read(text), JsonSyntaxError, text.slice(0, 40));
  });

  test('parts of large documents are counted, those of small ones are not', () => {
    const limits = { maxParts: 100_000 };
    assert.doesNotThrow(() => allSteps(jsonSteps(`{"a":[${many('[1]', 49_000)}]}`, limits)));
    assert.throws(() => allSteps(jsonSteps(`{"a":[${many('[1]', 51_000)}]}`, limits)), /more than 100000 fields/);
  });

  test('depth is counted across pieces', () => {
    const nested = (depth: number): string => `[[${many('1', 40_000)}],${'['.repeat(depth)}${']'.repeat(depth)}]`;
    assert.doesNotThrow(() => read(nested(MAX_DEPTH - 1)));
    assert.throws(() => read(nested(MAX_DEPTH)), /exceeded max depth/);
  });
});
