// Documents whose size says nothing of the work they take: they are refused before a tree is built, or read in linear time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDeferred } from '../../base/deferred.ts';
import { readYaml, type YamlCodec } from './yaml-codec.ts';
import { parseYaml } from './yaml.ts';

const MIB = 1024 * 1024;

/** Each was read for seconds to minutes at 3 MiB. */
const nested: Readonly<Record<string, string>> = {
  flowSequences: '[',
  flowMaps: '{a: ',
  flowMapsWithoutValue: '{a,',
  flowKeys: '[? ',
  brokenFlow: '[,',
  sequencesOfOneLine: '- ',
  keysOfOneLine: '? ',
  valuesOfOneLine: ': ',
  tags: '! ',
  namedTags: '!!str ',
  anchors: '&a ',
  flowLines: '[\n',
};

for (const [name, part] of Object.entries(nested)) {
  test(`too many parts before a value are refused at once: ${name}`, () => {
    assert.throws(() => parseYaml(part.repeat(MIB / part.length)), {
      name: 'YamlSyntaxError',
      message: /^error converting YAML to JSON: yaml: line \d+: \S/,
    });
  });
}

test('the first error ends the reading', () => {
  const text = `${'a: b\n'.repeat(100)}${'a: : b\n'.repeat(5000)}`;
  assert.throws(() => parseYaml(text), { message: /: line 101: / });
});

test('a hundred duplicate keys are listed, the lines of more are not looked up', () => {
  const { duplicates } = parseYaml('a: 1\n'.repeat(5000));
  assert.equal(duplicates[0]?.split('\n').length, 101);
  assert.match(duplicates[0], /line 101: key "a"/);
});

test('scalars, comments and lists of one line may have any number of brackets and signs', () => {
  const scalar = '[{- ? : ! & '.repeat(2000);
  for (const text of [`a: "${scalar}"`, `a: '${scalar}'`, `a: |\n  ${scalar}\n`, `a: 1 # ${scalar}`])
    assert.doesNotThrow(() => parseYaml(text), text.slice(0, 20));
  const items = ['"x"', "'x'", 'x', '&a x', '!!str x', '[x]', '{x: y}', '"x": y'];
  for (const item of items) assert.doesNotThrow(() => parseYaml(`[${`${item}, `.repeat(5000)}]`), item);
});

/** Counts what it reads; it never answers. */
function unanswering(): YamlCodec & { readonly asked: string[] } {
  const asked: string[] = [];
  const never = createDeferred<never>().promise;
  return { asked, parse: (text) => (asked.push(text), never), stringify: () => never, fromJson: () => never };
}

test('JSON, and little YAML, never go to the codec of long texts', async () => {
  const codec = unanswering();
  const long = 'x'.repeat(10_000);
  assert.deepEqual(await readYaml(` {"a": "${long}"}`, codec), { value: { a: long }, duplicates: [] });
  assert.deepEqual((await readYaml('a: [1]', codec)).value, { a: [1] });
  assert.deepEqual((await readYaml('{"a": 1, "a": 2}', codec)).duplicates, [
    'yaml: unmarshal errors:\n  line 1: key "a" already set in map',
  ]);
  await assert.rejects(readYaml('{"a": [', codec), { name: 'YamlSyntaxError' });
  assert.deepEqual(codec.asked, []);
});

test('long YAML goes to the codec, whatever it begins with', () => {
  const codec = unanswering();
  const long = 'x'.repeat(10_000);
  for (const text of [`a: ${long}`, `{a: ${long}}`, `{"a": "${long}", "a": 1}`, '['.repeat(10_000)])
    void readYaml(text, codec);
  assert.equal(codec.asked.length, 4);
});
