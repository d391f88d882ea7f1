/** Writes lists item by item, and yields the event loop between items. */
import { stringifyJson } from '../../api/codec/json.ts';
import { asWritten } from '../../api/codec/written-form.ts';
import type { JsonObject } from '../../api/codec/own-property.ts';
import { encodeProtobufList } from '../../api/codec/protobuf-list.ts';
import { type YamlCodec, yamlOnLoop } from '../../api/codec/yaml-codec.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import type { ByteLease } from '../flowcontrol/byte-budget.ts';
import type { MediaForm } from '../negotiation.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Turns } from '../turns.ts';
import { isPretty } from './write-object.ts';

/** A list to be written. */
export interface ItemList {
  /** All fields but that of the items, which comes last. */
  readonly head: object;
  readonly key: 'items' | 'rows';
  readonly count: number;
  /** Makes one item. */
  readonly item: (index: number) => object;
}

/** The form of the answer. */
export interface ItemListForm {
  readonly form: MediaForm;
  /** The list's schema; undefined where there is no protobuf form. */
  readonly schema: StructSchema | undefined;
  readonly scope: RequestScope;
  readonly turns: Turns;
  /** Is notified of the answer's size. */
  readonly lease?: ByteLease | undefined;
}

/** The size of one chunk of an answer, in bytes. TLS makes another of each; malloc keeps both for the next (`cli/heap-environment.ts`). */
export const PIECE_LENGTH = 64 * 1024;

/** The list's bytes in chunks. */
export async function writeItems(
  list: ItemList,
  { form, schema, scope, turns, lease }: ItemListForm,
): Promise<Uint8Array[]> {
  const { head, count, item } = list;
  const items = { count, item: item as (index: number) => JsonObject, pause: () => turns.next() };
  if (form.serialization === 'protobuf' && schema !== undefined)
    return await encodeProtobufList(schema, head as JsonObject, items);
  if (form.serialization === 'yaml') {
    const { yaml = yamlOnLoop } = scope.request;
    return writeYaml(list, { yaml, turns, lease });
  }
  return writeTexts(list, { isIndented: isPretty(form, scope), turns, lease });
}

/** YAML, equal to that of the whole list with sorted keys, generated from some items at a time. */
async function writeYaml(
  { head, key, count, item }: ItemList,
  { yaml, turns, lease }: { yaml: YamlCodec; turns: Turns; lease: ByteLease | undefined },
): Promise<Uint8Array[]> {
  if (count === 0) return [Buffer.from(await yaml.fromJson(stringifyJson({ ...head, [key]: [] })))];
  const open = `${key}:\n`;
  const fields = Object.entries(head).filter(([, value]) => value !== undefined);
  const part = async (some: typeof fields): Promise<string> =>
    some.length === 0 ? '' : await yaml.fromJson(stringifyJson(Object.fromEntries(some)));
  const pieces: Uint8Array[] = [Buffer.from((await part(fields.filter(([name]) => name < key))) + open)];
  let bytes = 0;
  let items = '';
  for (let index = 0; index < count; index++) {
    const due = turns.next();
    if (due !== undefined) await due;
    items += (items === '' ? '' : ',') + stringifyJson(asWritten(item(index)));
    if (items.length < PIECE_LENGTH && index < count - 1) continue;
    const text = await yaml.fromJson(`{"${key}":[${items}]}`);
    const piece = Buffer.from(text.slice(open.length));
    pieces.push(piece);
    lease?.note((bytes += piece.byteLength));
    items = '';
  }
  pieces.push(Buffer.from(await part(fields.filter(([name]) => name > key))));
  return pieces;
}

/** JSON, as `JSON.stringify` of the whole would write it, and the end of the line if it is one. Bytes, which take less than texts. */
async function writeTexts(
  { head, key, count, item }: ItemList,
  { isIndented, turns, lease }: { isIndented: boolean; turns: Turns; lease: ByteLease | undefined },
): Promise<Uint8Array[]> {
  const indent = isIndented ? 2 : 0;
  if (count === 0) return [Buffer.from(stringifyJson({ ...head, [key]: [] }, indent) + (isIndented ? '' : '\n'))];
  const [open, between, end] = isIndented
    ? [`,\n  "${key}": [\n    `, ',\n    ', '\n  ]\n}']
    : [`,"${key}":[`, ',', ']}\n'];
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let text = stringifyJson(head, indent).slice(0, isIndented ? -2 : -1) + open;
  for (let index = 0; index < count; index++) {
    const due = turns.next();
    if (due !== undefined) await due;
    const one = stringifyJson(asWritten(item(index)), indent);
    text += (index === 0 ? '' : between) + (isIndented ? one.replaceAll('\n', '\n    ') : one);
    if (text.length < PIECE_LENGTH) continue;
    const piece = Buffer.from(text);
    pieces.push(piece);
    lease?.note((bytes += piece.byteLength));
    text = '';
  }
  pieces.push(Buffer.from(text + end));
  return pieces;
}
