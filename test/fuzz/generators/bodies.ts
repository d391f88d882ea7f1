// Bodies: objects, patches and options in JSON, YAML and protobuf, mutated as documents and as bytes.
import { gzipSync } from 'node:zlib';
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import { encodeProtobuf } from '../../../src/api/codec/protobuf.ts';
import { decodeTyped } from '../../../src/api/codec/typed.ts';
import { schemaOf } from '../../../src/api/schema/schema.ts';
import { chance, pick, type Random, weighted } from '../draw.ts';
import { textOf } from '../exchange.ts';
import { mutateBytes } from '../values/mutate-bytes.ts';
import { mutateProtobuf } from '../values/mutate-protobuf.ts';
import { mutateTree } from '../values/mutate-tree.ts';
import { treeOf, writeTree } from '../values/tree.ts';

export interface Body {
  readonly contentType: string;
  /** The bytes as latin1 text. */
  readonly text: string;
}

const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

/** A JSON document with some changes; nearly half have none. */
export function mutatedJson(random: Random, value: unknown): string {
  const times = weighted(random, [
    [6, 0],
    [5, 1],
    [2, 2],
    [1, 6],
  ]);
  const tree = treeOf(value);
  mutateTree(random, tree, times);
  const text = utf8(writeTree(tree));
  return chance(random, 0.04) ? mutateBytes(random, text, 1 + random.int(3)) : text;
}

/** Documents that only YAML can express. */
const yamlTexts: readonly string[] = [
  'a: &a [x]\nb: *a\n',
  'metadata: &m {name: fuzz-a}\ndata: *absent\n',
  '<<: {kind: ConfigMap}\n',
  '--- \n{}\n---\n{}\n',
  '%YAML 1.1\n---\na: !!binary x\n',
  'a: !!set {a}\n? [b]\n: c\n',
  '? {a: b}\n: 1\n',
  '__proto__: {a: b}\n',
  'a: !<tag:x> &b\n',
  '\t',
  'a: |\n  x\n >2\n',
  `${'['.repeat(400)}`,
  'a: "\\ud800"\n',
  'a: 0o17\nb: 1_000\nc: .inf\nd: 2001-12-14\ne: yes\n',
  '- a\n- b: *c\n',
  '&a a: *a\n',
];

function yamlBody(random: Random, value: unknown): string {
  if (chance(random, 0.3)) return utf8(pick(random, yamlTexts));
  const text = mutatedJson(random, value);
  return chance(random, 0.3) ? `${text}\n${utf8(pick(random, yamlTexts))}` : text;
}

function protobufBody(random: Random, object: JsonObject): string | undefined {
  const [group, version] = String(object['apiVersion']).includes('/')
    ? (String(object['apiVersion']).split('/') as [string, string])
    : ['', String(object['apiVersion'])];
  const schema = schemaOf(group, version, String(object['kind']));
  if (schema === undefined) return undefined;
  let bytes: Buffer;
  try {
    bytes = Buffer.from(encodeProtobuf(schema, decodeTyped(schema, JSON.parse(writeTree(treeOf(object)))).object));
  } catch {
    return undefined; // a sample that the codec refuses; its JSON is sent instead
  }
  if (chance(random, 0.25)) return textOf(bytes);
  const message = bytes.subarray(4);
  const mutated = Buffer.concat([bytes.subarray(0, 4), mutateProtobuf(random, message)]);
  return chance(random, 0.1) ? mutateBytes(random, textOf(mutated), 1) : textOf(mutated);
}

/** The object in a random encoding. */
export function objectBody(random: Random, object: JsonObject): Body {
  const form = weighted(random, [
    [6, 'json'],
    [1, 'yaml'],
    [3, 'protobuf'],
  ] as const);
  if (form === 'yaml') return { contentType: 'application/yaml', text: yamlBody(random, object) };
  if (form === 'protobuf') {
    const text = protobufBody(random, object);
    if (text !== undefined) return { contentType: 'application/vnd.kubernetes.protobuf', text };
  }
  return { contentType: 'application/json', text: mutatedJson(random, object) };
}

/** Sometimes compresses the body, not always validly; returns the required headers. */
export function encoded(random: Random, body: Body): { text: string; headers: (readonly [string, string])[] } {
  if (!chance(random, 0.03)) return { text: body.text, headers: [] };
  const bytes = textOf(gzipSync(Buffer.from(body.text, 'latin1'), { level: 1 }));
  const text = weighted(random, [
    [4, bytes],
    [2, mutateBytes(random, bytes, 1)],
    [1, body.text],
    [1, bytes + bytes],
  ]);
  return { text, headers: [['Content-Encoding', 'gzip']] };
}
