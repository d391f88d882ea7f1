import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringifyYaml } from '../../../api/codec/yaml-writer.ts';
import { yamlTokens } from './yaml-tokens.ts';

const shown = (text: string): readonly string[] =>
  yamlTokens(text).map((line) => line.map(({ kind, text: piece }) => `${kind} ${JSON.stringify(piece)}`).join(', '));

test('keys, values and texts are distinguished', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['kind: Pod', 'key "kind:", text " Pod"'],
    ['  replicas: 3', 'mark "  ", key "replicas:", value " 3"'],
    ['- name: web', 'mark "- ", key "name:", text " web"'],
    ['spec:', 'key "spec:"'],
    ['  - true', 'mark "  - ", value "true"'],
    ['f:app.kubernetes.io/name: {}', 'key "f:app.kubernetes.io/name:", value " {}"'],
    ['"a: b": "3"', 'key "\\"a: b\\":", text " \\"3\\""'],
    ['image: registry:5000/app:1', 'key "image:", text " registry:5000/app:1"'],
    ['- https://a.example: x', 'mark "- ", key "https://a.example:", text " x"'],
    ['- registry:5000/app:1', 'mark "- ", text "registry:5000/app:1"'],
    ['note: <script>alert(1)</script>', 'key "note:", text " <script>alert(1)</script>"'],
  ];
  for (const [line, expected] of cases) assert.deepEqual(shown(line), [expected]);
});

test('all lines of a block scalar are text', () => {
  assert.deepEqual(shown('data:\n  run: |\n    a: 1\n\n    - b\n  next: 2\nlist:\n- |-\n  x: y\n- 5'), [
    'key "data:"',
    'mark "  ", key "run:", mark " |"',
    'text "    a: 1"',
    '',
    'text "    - b"',
    'mark "  ", key "next:", value " 2"',
    'key "list:"',
    'mark "- ", mark "|-"',
    'text "  x: y"',
    'mark "- ", value "5"',
  ]);
});

test('no character is lost, whatever the object contains', () => {
  const texts = [
    '',
    ' ',
    '-',
    '- -',
    ':',
    'a:b',
    '#x',
    '"',
    "it's",
    '|',
    'a\n\n  b: c\n',
    '\ttab',
    '{a: b}',
    'ü: €',
    '-1',
    '? k',
  ];
  const object = {
    ...Object.fromEntries(texts.map((text, at) => [`${text} ${at}`, text])),
    list: texts,
    nested: [texts, { texts }],
  };
  const yaml = stringifyYaml(object);
  const again = yamlTokens(yaml).map((line) => line.map(({ text }) => text).join(''));
  assert.equal(again.join('\n'), yaml);
});
