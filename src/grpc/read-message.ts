/** Reads messages by their plans, long ones in steps, and counts the values of a message: a byte can become an object of hundreds. */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { setOwn } from '../api/codec/own-property.ts';
import { StepMeter, type Steps } from '../base/steps.ts';
import type { FieldPlan, MessageObject, MessagePlan } from './value-codecs.ts';

/** Values that are read in one step: some milliseconds. */
const VALUES_PER_STEP = 10_000;
/** Messages of fewer bytes are read in one step. */
const LONG_BYTES = 32 * 1024;

/** A reader that throws where a message has more than `maxValues` fields, items, entries, and lists and maps of its messages. */
export class MessageReader extends BinaryReader {
  readonly #maxValues: number;
  readonly #meter = new StepMeter(VALUES_PER_STEP);
  #values = 0;
  #valuesBefore = 0;

  constructor(bytes: Uint8Array, maxValues: number) {
    super(bytes);
    this.#maxValues = maxValues;
  }

  add(values: number): void {
    this.#values += values;
    if (this.#values > this.#maxValues) throw new RangeError(`more than ${this.#maxValues} values`);
  }

  endsStep(): boolean {
    const added = this.#values - this.#valuesBefore;
    this.#valuesBefore = this.#values;
    return this.#meter.endsStep(added);
  }
}

/** Reads the message that ends at `end`; long messages in it are read in steps too. */
export function* readMessageSteps(reader: MessageReader, plan: MessagePlan, end: number): Steps<MessageObject> {
  const plain = emptyMessage(reader, plan);
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const field = plan.byNumber.get(number);
    const messagePlan = field?.kind === 'map' ? undefined : field?.value.plan?.();
    if (field === undefined || messagePlan === undefined) readField(reader, { field, number, wireType }, plain);
    else {
      const length = reader.uint32();
      const messageEnd = reader.pos + length;
      const message =
        length > LONG_BYTES
          ? yield* readMessageSteps(reader, messagePlan, messageEnd)
          : readMessage(reader, messagePlan, messageEnd);
      if (field.kind === 'single') plain[field.plainName] = message;
      else (plain[field.plainName] as unknown[]).push(message);
    }
    if (reader.endsStep()) yield;
  }
  return plain;
}

/** Reads the message that ends at `end`, in one step. */
export function readMessage(reader: MessageReader, plan: MessagePlan, end: number): MessageObject {
  const plain = emptyMessage(reader, plan);
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    readField(reader, { field: plan.byNumber.get(number), number, wireType }, plain);
  }
  return plain;
}

/** A message with its zero values. Lists and maps count as values, since each is an object. */
function emptyMessage(reader: MessageReader, plan: MessagePlan): MessageObject {
  const plain: MessageObject = {};
  let made = 1;
  for (const { plainName, kind, value } of plan.fields) {
    if (kind !== 'single') {
      plain[plainName] = kind === 'list' ? [] : {};
      made++;
    } else if (value.zero !== undefined) plain[plainName] = value.zero;
  }
  reader.add(made);
  return plain;
}

interface FieldHead {
  /** Undefined for fields that the table lacks, which are skipped. */
  readonly field: FieldPlan | undefined;
  readonly number: number;
  readonly wireType: WireType;
}

function readField(reader: MessageReader, { field, number, wireType }: FieldHead, plain: MessageObject): void {
  reader.add(1);
  if (field === undefined) reader.skip(wireType, number);
  else if (field.kind === 'single') plain[field.plainName] = field.value.read(reader);
  else if (field.kind === 'list') readList(reader, { field, wireType }, plain[field.plainName] as unknown[]);
  else readMapEntry(reader, field, plain[field.plainName] as Record<string, unknown>);
}

function readList(
  reader: MessageReader,
  { field, wireType }: { field: FieldPlan; wireType: WireType },
  list: unknown[],
): void {
  const packed = wireType === WireType.LengthDelimited && field.value.wireType !== WireType.LengthDelimited;
  if (!packed) {
    list.push(field.value.read(reader));
    return;
  }
  const length = reader.uint32();
  for (const end = reader.pos + length; reader.pos < end;) {
    reader.add(1);
    list.push(field.value.read(reader));
  }
}

/** An entry without a value has the value's zero; of a message that is one with nothing in it, which Go writes out. */
function readMapEntry(reader: MessageReader, { value: codec }: FieldPlan, map: Record<string, unknown>): void {
  let key = '';
  let value: unknown = codec.zero;
  const length = reader.uint32();
  for (const end = reader.pos + length; reader.pos < end;) {
    const [number, wireType] = reader.tag();
    reader.add(1);
    if (number === 1) key = reader.string();
    else if (number === 2) value = codec.read(reader);
    else reader.skip(wireType, number);
  }
  if (value !== undefined) setOwn(map, key, value);
}
