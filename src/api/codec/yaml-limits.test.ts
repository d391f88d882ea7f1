// Documents whose parsing takes far longer than their size suggests are refused before a tree is built, or read in linear time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDeferred } from '../../base/deferred.ts';
import { readYaml, type YamlCodec } from './yaml-codec.ts';
import { parseYaml } from './yaml.ts';

const MIB = 1024 * 1024;

/** At 3 MiB each took seconds to minutes before the limits. */
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

test('parsing stops at the first error', () => {
  const text = `${'a: b\n'.repeat(100)}${'a: : b\n'.repeat(5000)}`;
  assert.throws(() => parseYaml(text), { message: /: line 101: / });
});

test('a hundred duplicate keys are reported; the lines of further ones are not computed', () => {
  const { duplicates } = parseYaml('a: 1\n'.repeat(5000));
  assert.equal(duplicates[0]?.split('\n').length, 101);
  assert.match(duplicates[0], /line 101: key "a"/);
});

test('scalars, comments and flow collections of one line may have any number of brackets and signs', () => {
  const scalar = '[{- ? : ! & '.repeat(2000);
  for (const text of [`a: "${scalar}"`, `a: '${scalar}'`, `a: |\n  ${scalar}\n`, `a: 1 # ${scalar}`])
    assert.doesNotThrow(() => parseYaml(text), text.slice(0, 20));
  const items = ['"x"', "'x'", 'x', '&a x', '!!str x', '[x]', '{x: y}', '"x": y'];
  for (const item of items) assert.doesNotThrow(() => parseYaml(`[${`${item}, `.repeat(5000)}]`), item);
});

/** A codec that records its inputs and never resolves. */
function unanswering(): YamlCodec & { readonly asked: string[] } {
  const asked: string[] = [];
  const never = createDeferred<never>().promise;
  return { asked, parse: (text) => (asked.push(text), never), stringify: () => never, fromJson: () => never };
}

test('JSON and short YAML are not passed to the codec of long texts', async () => {
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

test('long YAML is passed to the codec, whatever its first character is', () => {
  const codec = unanswering();
  const long = 'x'.repeat(10_000);
  for (const text of [`a: ${long}`, `{a: ${long}}`, `{"a": "${long}", "a": 1}`, '['.repeat(10_000)])
    void readYaml(text, codec);
  assert.equal(codec.asked.length, 4);
});
