/** Encodes lists as enveloped messages, item by item. The bytes are those of `encodeProtobuf`. */
import type { StructSchema } from '../schema/type-schema.ts';
import type { JsonObject } from './own-property.ts';
import { PbError } from './pb-reader.ts';
import { planOf } from './pb-plan.ts';
import { PbWriter } from './pb-writer.ts';
import { envelopeEnds } from './protobuf.ts';
import { encodeMessage, writeStruct } from './protobuf-encode.ts';

export interface ListItems {
  readonly count: number;
  /** Creates the item at an index. */
  item(index: number): JsonObject;
  /** Awaited before each item. */
  pause(): Promise<void> | undefined;
}

const PIECE_LENGTH = 64 * 1024;

/** The bytes of the list in pieces. `head` is the list without its items. Rejects with {@link PbError}. */
export async function encodeProtobufList(
  schema: StructSchema,
  head: JsonObject,
  { count, item, pause }: ListItems,
): Promise<Uint8Array[]> {
  const [last] = planOf(schema).descending;
  const type = last?.field?.name === 'items' && last.field.type.kind === 'list' ? last.field.type.items : undefined;
  if (type?.kind !== 'struct') throw new PbError(`object ${schema.name} cannot be encoded to a protobuf message`);
  const metadata = encodeMessage(schema, head);
  const pieces: Uint8Array[] = [];
  let length = metadata.length;
  let some: Uint8Array[] = [];
  let someLength = 0;
  for (let index = 0; index < count; index++) {
    const due = pause();
    if (due !== undefined) await due;
    const w = new PbWriter(2048);
    writeStruct(w, type, item(index));
    w.message(last!.number, 0);
    const bytes = w.finish();
    some.push(bytes);
    someLength += bytes.length;
    if (someLength < PIECE_LENGTH) continue;
    pieces.push(Buffer.concat(some));
    length += someLength;
    some = [];
    someLength = 0;
  }
  length += someLength;
  const typeMeta = { apiVersion: String(head['apiVersion'] ?? ''), kind: String(head['kind'] ?? '') };
  const { start, end } = envelopeEnds(typeMeta, length);
  if (pieces.length === 0) return [Buffer.concat([start, metadata, ...some, end])];
  return [Buffer.concat([start, metadata]), ...pieces, Buffer.concat([...some, end])];
}
