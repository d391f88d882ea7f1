import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { readYaml } from './yaml-codec.ts';
import { stringifyYaml } from './yaml-writer.ts';
import { parseYaml, parseYamlDocuments } from './yaml.ts';

test('scalars have the types that upstream gives them', () => {
  const cases: [string, unknown][] = [
    ['a: 0644', 420],
    ['a: yes', true],
    ['a: n', false],
    ['a: 10:20', '10:20'],
    ['a: 2020-01-01', '2020-01-01'],
    ['a: 2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z'],
    ['a: 1.5', 1.5],
    ['a: "5"', '5'],
    ['a: ~', null],
    ['a: 9007199254740993', 9007199254740993n],
    ['a: 100m', '100m'],
    ['a: |\n  x\n  y\n', 'x\ny\n'],
  ];
  for (const [text, want] of cases) assert.deepEqual(parseYaml(text).value, { a: want }, text);
});

test('anchors and merge keys are resolved', () => {
  assert.deepEqual(parseYaml('x: &x {a: 1}\nz:\n  <<: *x\n  b: 2\n').value, { x: { a: 1 }, z: { a: 1, b: 2 } });
});

test('the documents of a stream are read in order', () => {
  assert.deepEqual(
    parseYamlDocuments('---\na: 1\n---\n# nothing\n---\nb: 2\n').map((d) => d.value),
    [{ a: 1 }, { b: 2 }],
  );
});

test('the first document of a body or manifest is read; a configuration has exactly one', async () => {
  const text = '# a comment\n---\na: 1\n---\nb: [\n';
  assert.deepEqual((await readYaml(text)).value, { a: 1 });
  assert.throws(() => parseYaml('a: 1\n---\nb: 2\n'), /Source contains multiple documents/);
});

test('duplicate keys are reported with their lines', () => {
  const { duplicates } = parseYaml('spec:\n  replicas: 1\n  replicas: 2\n');
  assert.deepEqual(duplicates, ['yaml: unmarshal errors:\n  line 3: key "replicas" already set in map']);
});

test('__proto__ is an ordinary key', () => {
  const value = parseYaml('__proto__:\n  x: 1\n').value as object;
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.deepEqual(Object.keys(value), ['__proto__']);
});

test('invalid text is refused', () => {
  assert.throws(() => parseYaml('a: [1'), { name: 'YamlSyntaxError' });
});

test('written YAML is read back as the same value, with sorted keys', () => {
  const text = stringifyYaml({ b: 'yes', a: [{ c: '0644', d: 1 }] });
  assert.equal(text, 'a:\n- c: "0644"\n  d: 1\nb: "yes"\n');
});

test('lists written item by item and at once give the same text', () => {
  const at = { version: '1.1', sortMapEntries: true, lineWidth: 0, indentSeq: false } as const;
  const objects: object[] = [
    {},
    { a: [] },
    { a: {}, b: null, c: undefined },
    { a: [[1, 2], []], b: ['x\ny\n', null, {}, { z: [{ y: 1, x: [2] }] }] },
    { '': [1], 'a: b': [1], null: [1], 'x null': [1], 'line\nend': [1], '10': [1], '9': 1, ['long'.repeat(500)]: [2] },
    JSON.parse('{"__proto__":[1],"a":"__proto__"}') as object,
  ];
  for (const object of objects)
    assert.equal(stringifyYaml(object), stringify(object, { ...at, aliasDuplicateObjects: false }));
});

test('numbers that JSON cannot hold are refused', () => {
  for (const text of ['a: .inf', 'a: -.inf', 'a: [.nan]'])
    assert.throws(() => parseYaml(text), { name: 'YamlSyntaxError', message: /json: unsupported value: / });
});

test('a plain scalar is a number when Go parses it as one, and else a text', () => {
  const texts = [
    'e1',
    'E12',
    'e',
    '.e1',
    'e+1',
    '+e1',
    '.',
    '-',
    '+',
    '0e',
    '1e',
    '5.e',
    '_1',
    '._1',
    'e1a',
    '0o8',
    '0o',
    '0o_',
    '12:30',
  ];
  for (const text of texts)
    assert.deepEqual(parseYaml(`a: ${text === '-' ? '-a' : text}`).value, { a: text === '-' ? '-a' : text }, text);
  const numbers = {
    '.5': 0.5,
    '1.': 1,
    '1e3': 1000,
    '1.e+3': 1000,
    '.5e1': 5,
    '-.5': -0.5,
    '1_000': 1000,
    '1_0.5': 10.5,
  };
  const integers = { '07': 7, '0o7': 7, '-0o17': -15, '0x1f': 31, '0b11': 3, '+1': 1 };
  for (const [text, value] of Object.entries({ ...numbers, ...integers }))
    assert.deepEqual(parseYaml(`a: ${text}`).value, { a: value }, text);
});
