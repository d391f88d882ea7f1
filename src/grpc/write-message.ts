/** Writes messages by their plans; lists of thousands of messages are encoded beforehand, piece by piece. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Steps } from '../base/steps.ts';
import { bytes, type FieldPlan, type MessagePlan, type MessageObject } from './value-codecs.ts';

/** Items of a list of messages that are encoded in one turn: some milliseconds. */
const ITEMS_PER_STEP = 10_000;

/** Already encoded lists, including their tags. */
export type EncodedLists = Map<readonly unknown[], readonly Uint8Array[]>;

export class MessageWriter extends BinaryWriter {
  readonly #lists: EncodedLists;

  constructor(lists: EncodedLists) {
    super();
    this.#lists = lists;
  }

  /** Writes the list if it was encoded beforehand; returns whether it was. */
  writeEncoded(list: readonly unknown[]): boolean {
    const pieces = this.#lists.size === 0 ? undefined : this.#lists.get(list);
    pieces?.forEach((piece) => this.raw(piece));
    return pieces !== undefined;
  }
}

/** Encodes the long lists of a message and of messages in it, each piece in a step. */
export function* longListSteps(plan: MessagePlan, plain: MessageObject, lists: EncodedLists): Steps<void> {
  for (const name of Object.keys(plain)) {
    const field = plan.byName.get(name);
    const value = plain[name];
    if (field?.value.plan === undefined || value === undefined) continue;
    if (field.kind === 'single') yield* longListSteps(field.value.plan(), value as MessageObject, lists);
    else if (field.kind === 'list') {
      const items = value as readonly unknown[];
      if (items.length > ITEMS_PER_STEP) lists.set(items, yield* piecesOf(field, items));
    }
  }
}

function* piecesOf(field: FieldPlan, items: readonly unknown[]): Steps<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < items.length; at += ITEMS_PER_STEP) {
    const writer = new BinaryWriter();
    writeList(writer, field, items.slice(at, at + ITEMS_PER_STEP));
    pieces.push(writer.finish());
    yield;
  }
  return pieces;
}

export function writeMessage(writer: BinaryWriter, plan: MessagePlan, plain: MessageObject): void {
  for (const name of Object.keys(plain)) {
    const value = plain[name];
    if (value === undefined) continue;
    const field = plan.byName.get(name);
    if (field === undefined) throw new Error(`${plan.typeName} has no field ${name}`);
    if (field.kind === 'single') writeSingle(writer, field, value);
    else if (field.kind === 'list') writeList(writer, field, value as readonly unknown[]);
    else writeMap(writer, field, value as Readonly<Record<string, unknown>>);
  }
}

function writeSingle(writer: BinaryWriter, { number, value: codec }: FieldPlan, value: unknown): void {
  if (value === codec.zero || (codec === bytes && (value as Uint8Array).length === 0)) return;
  codec.write(writer.tag(number, codec.wireType), value);
}

/** Numbers go packed, as proto3 has it. */
function writeList(writer: BinaryWriter, { number, value: codec }: FieldPlan, values: readonly unknown[]): void {
  if (values.length === 0 || (writer instanceof MessageWriter && writer.writeEncoded(values))) return;
  if (codec.wireType === WireType.LengthDelimited) {
    for (const value of values) codec.write(writer.tag(number, codec.wireType), value);
    return;
  }
  writer.tag(number, WireType.LengthDelimited).fork();
  for (const value of values) codec.write(writer, value);
  writer.join();
}

function writeMap(
  writer: BinaryWriter,
  { number, value: codec }: FieldPlan,
  map: Readonly<Record<string, unknown>>,
): void {
  for (const key of Object.keys(map)) {
    writer.tag(number, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(key);
    codec.write(writer.tag(2, codec.wireType), map[key]);
    writer.join();
  }
}
