import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { readYaml } from './yaml-codec.ts';
import { stringifyYaml } from './yaml-writer.ts';
import { parseYaml, parseYamlDocuments } from './yaml.ts';

test('scalars resolve as upstream resolves them', () => {
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

test('anchors and merge keys', () => {
  assert.deepEqual(parseYaml('x: &x {a: 1}\nz:\n  <<: *x\n  b: 2\n').value, { x: { a: 1 }, z: { a: 1, b: 2 } });
});

test('documents of a stream', () => {
  assert.deepEqual(
    parseYamlDocuments('---\na: 1\n---\n# nothing\n---\nb: 2\n').map((d) => d.value),
    [{ a: 1 }, { b: 2 }],
  );
});

test('of a body or manifest the first document is read, of a configuration there is one', async () => {
  const text = '# a comment\n---\na: 1\n---\nb: [\n';
  assert.deepEqual((await readYaml(text)).value, { a: 1 });
  assert.throws(() => parseYaml('a: 1\n---\nb: 2\n'), /Source contains multiple documents/);
});

test('duplicate keys are named with their line', () => {
  const { duplicates } = parseYaml('spec:\n  replicas: 1\n  replicas: 2\n');
  assert.deepEqual(duplicates, ['yaml: unmarshal errors:\n  line 3: key "replicas" already set in map']);
});

test('__proto__ is a key', () => {
  const value = parseYaml('__proto__:\n  x: 1\n').value as object;
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.deepEqual(Object.keys(value), ['__proto__']);
});

test('broken text is refused', () => {
  assert.throws(() => parseYaml('a: [1'), { name: 'YamlSyntaxError' });
});

test('what is written reads back, keys sorted', () => {
  const text = stringifyYaml({ b: 'yes', a: [{ c: '0644', d: 1 }] });
  assert.equal(text, 'a:\n- c: "0644"\n  d: 1\nb: "yes"\n');
});

test('a written object is the same text whether its lists are written item by item or at once', () => {
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
