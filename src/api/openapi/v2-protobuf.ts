// Encodes a Swagger document as gnostic's openapi.v2.Document message, the only form of /openapi/v2 that kubectl accepts. Only
// the fields that our documents have are written. Upstream: google/gnostic openapiv2/OpenAPIv2.proto.

import type { Steps } from '../../base/steps.ts';
import { stringifyJson } from '../codec/json.ts';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import { PbWriter, VARINT_TYPE } from '../codec/pb-writer.ts';
import type { V2Document } from './v2.ts';

/** Encodes the message; each path and definition is one step. Values of other types than the format's are left out. */
export function* encodeV2(document: V2Document): Steps<Uint8Array> {
  const w = new PbWriter(1 << 20);
  yield* largeMap(w, 9, { field: 1, entries: document.definitions, write: schema });
  yield* largeMap(w, 8, { field: 2, entries: document.paths, write: pathItem });
  message(w, 2, () => {
    string(w, 2, document.info['version']);
    string(w, 1, document.info['title']);
  });
  string(w, 1, document.swagger);
  return w.finish();
}

function* largeMap(
  w: PbWriter,
  number: number,
  { field, entries, write }: { readonly field: number; readonly entries: JsonObject; readonly write: Write },
): Steps<void> {
  const before = w.length;
  for (const [name, value] of Object.entries(entries).reverse()) {
    entry(w, field, { name, value, write });
    yield;
  }
  w.message(number, before);
}

type Write = (w: PbWriter, value: JsonObject) => void;

function message(w: PbWriter, number: number, content: () => void): void {
  const before = w.length;
  content();
  w.message(number, before);
}

/** A proto3 string, which is left out when it is absent or empty. */
function string(w: PbWriter, number: number, value: unknown): void {
  if (typeof value === 'string' && value !== '') w.string(number, value);
}

function bool(w: PbWriter, number: number, value: unknown): void {
  if (value !== true) return;
  w.varint(1);
  w.tag(number, VARINT_TYPE);
}

function strings(w: PbWriter, number: number, values: unknown): void {
  if (Array.isArray(values)) for (const value of values.toReversed()) string(w, number, value);
}

/** Entries of a map as a repeated message `{ name = 1, value = 2 }`. */
function named(w: PbWriter, number: number, { entries, write }: { entries: unknown; write: Write }): void {
  if (!isObject(entries)) return;
  for (const [name, value] of Object.entries(entries).reverse()) entry(w, number, { name, value, write });
}

function entry(
  w: PbWriter,
  number: number,
  { name, value, write }: { readonly name: string; readonly value: unknown; readonly write: Write },
): void {
  if (!isObject(value)) return;
  message(w, number, () => {
    message(w, 2, () => write(w, value));
    string(w, 1, name);
  });
}

/** A value as YAML text in an Any message. */
function any(w: PbWriter, value: unknown): void {
  w.string(2, `${stringifyJson(value)}\n`);
}

function extensions(w: PbWriter, number: number, value: JsonObject): void {
  for (const [name, extension] of Object.entries(value).reverse()) {
    if (!name.startsWith('x-')) continue;
    message(w, number, () => {
      message(w, 2, () => any(w, extension));
      string(w, 1, name);
    });
  }
}

function schema(w: PbWriter, s: JsonObject): void {
  extensions(w, 31, s);
  if (s['properties'] !== undefined) message(w, 25, () => named(w, 1, { entries: s['properties'], write: schema }));
  if (isObject(s['items'])) message(w, 23, () => message(w, 1, () => schema(w, s['items'] as JsonObject)));
  if (s['type'] !== undefined) message(w, 22, () => string(w, 1, s['type']));
  if (isObject(s['additionalProperties']))
    message(w, 21, () => message(w, 1, () => schema(w, s['additionalProperties'] as JsonObject)));
  if (Array.isArray(s['enum']))
    for (const value of s['enum'].toReversed() as unknown[]) message(w, 20, () => any(w, value));
  strings(w, 19, s['required']);
  if (s['default'] !== undefined) message(w, 5, () => any(w, s['default']));
  string(w, 4, s['description']);
  string(w, 2, s['format']);
  string(w, 1, s['$ref']);
}

const METHODS: [string, number][] = [
  ['patch', 8],
  ['delete', 5],
  ['post', 4],
  ['put', 3],
  ['get', 2],
];

function pathItem(w: PbWriter, item: JsonObject): void {
  parameters(w, 9, item['parameters']);
  for (const [method, number] of METHODS) {
    const op = item[method];
    if (isObject(op)) message(w, number, () => operation(w, op));
  }
}

function operation(w: PbWriter, op: JsonObject): void {
  extensions(w, 13, op);
  message(w, 9, () => named(w, 1, { entries: op['responses'], write: response }));
  parameters(w, 8, op['parameters']);
  strings(w, 7, op['consumes']);
  strings(w, 6, op['produces']);
  string(w, 5, op['operationId']);
  string(w, 3, op['description']);
  strings(w, 1, op['tags']);
}

function response(w: PbWriter, r: JsonObject): void {
  message(w, 1, () => {
    const body = r['schema'];
    if (isObject(body)) message(w, 2, () => message(w, 1, () => schema(w, body)));
    string(w, 1, r['description']);
  });
}

function parameters(w: PbWriter, number: number, list: unknown): void {
  if (!Array.isArray(list)) return;
  for (const p of list.toReversed() as unknown[]) {
    if (!isObject(p)) continue;
    message(w, number, () => message(w, 1, () => (p['in'] === 'body' ? bodyParameter(w, p) : otherParameter(w, p))));
  }
}

function bodyParameter(w: PbWriter, p: JsonObject): void {
  message(w, 1, () => {
    const body = p['schema'];
    if (isObject(body)) message(w, 5, () => schema(w, body));
    bool(w, 4, p['required']);
    string(w, 3, p['in']);
    string(w, 2, p['name']);
  });
}

/**
 * `allowEmptyValue` is field 5 of query parameters, so the fields after it have numbers one higher than those of path parameters.
 */
function otherParameter(w: PbWriter, p: JsonObject): void {
  const query = p['in'] === 'query';
  message(w, 2, () =>
    message(w, query ? 3 : 4, () => {
      bool(w, query ? 20 : 19, p['uniqueItems']);
      string(w, query ? 6 : 5, p['type']);
      string(w, 4, p['name']);
      string(w, 3, p['description']);
      string(w, 2, p['in']);
      bool(w, 1, p['required']);
    }),
  );
}
