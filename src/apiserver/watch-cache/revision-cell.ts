/**
 * One revision of one stored object, shared by every reader: the stored bytes, the JSON text with the resourceVersion
 * spliced in, and the decoded object, each made when first asked for. Upstream has no counterpart: it decodes on arrival
 * and encodes per reader.
 *
 * Invariant: a stored value is `{"kind":…,"apiVersion":…,"metadata":{…` without resourceVersion, which is known only
 * after the commit. Values of another layout (foreign writers) are decoded and written anew. Cells and what they return
 * never change.
 */
import { ByteArena } from '../../base/byte-arena.ts';
import type { ObjectMeta } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { parseJson, stringifyJson } from '../../api/codec/json.ts';
import { asRead, asWritten } from '../../api/codec/written-form.ts';

const metadataKey = Buffer.from('"metadata":{');
const [quote, openBrace, closeBrace, backslash] = [0x22, 0x7b, 0x7d, 0x5c];
/** kind and apiVersion, which come first, are shorter than this. */
const HEAD_LIMIT = 512;

/**
 * Objects by their encoded bytes, until a cell is made of the bytes. A store in this process delivers the same bytes it was
 * given, so the cell need not decode them. The entry goes then, since the store keeps the bytes of every revision for minutes.
 */
const encoded = new WeakMap<Uint8Array, Encoded>();

interface Encoded {
  readonly object: KubernetesObject;
  readonly places: Places;
}

/** Offsets of stamped texts in the bytes. The next revision has them at the same offsets. */
type Places = Readonly<Record<string, number>>;

const NO_PLACES: Places = {};

/**
 * How short-lived values end; values of one kind share memory, since they end at about the same time. `renewed`: replaced
 * within seconds (leases). `expiring`: expires after its time to live (events), and is rarely read as an object before.
 */
export type ShortLife = 'renewed' | 'expiring';

/** An arena per kind: a value that lives an hour would keep memory that it shares with values of seconds. */
const arenas: Readonly<Record<ShortLife, ByteArena>> = { renewed: new ByteArena(), expiring: new ByteArena() };

/**
 * Encodes an object for the store: kind, apiVersion and metadata first, no resourceVersion. The object must equal what a
 * reader decodes from the bytes, and must not change any more: unless it is `expiring`, the cell of these bytes shares it.
 */
export function encodeStored(object: KubernetesObject, life?: ShortLife): Uint8Array {
  const text = textOf(object);
  const bytes = life === undefined ? inOwnMemory(text) : arenas[life].encode(text);
  if (life !== 'expiring') encoded.set(bytes, { object, places: NO_PLACES });
  return bytes;
}

/** Replaces a text by another of the same length: the value of the field `name`. */
export interface Stamp {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/**
 * The stored bytes of an object that differs from the cell's only in times of the same spelling: copied and stamped instead
 * of encoded. Undefined when the result might differ from that of `encodeStored`.
 */
export function restampStored(
  cell: RevisionCell,
  stamps: readonly Stamp[],
  object: KubernetesObject,
): Uint8Array | undefined {
  const { own } = cell;
  if (own === undefined) return undefined;
  let { places } = own;
  for (const stamp of stamps) {
    if (stamp.after.length !== stamp.before.length) return undefined;
    if (places[stamp.name] !== undefined) continue;
    const place = placeOf(own.bytes, stamp);
    if (place === undefined) return undefined;
    places = { ...places, [stamp.name]: place };
  }
  const bytes = arenas.renewed.copy(own.bytes);
  for (const { name, after } of stamps) bytes.write(after, places[name]!, 'latin1');
  encoded.set(bytes, { object, places });
  return bytes;
}

function placeOf(bytes: Buffer, { name, before }: Stamp): number | undefined {
  const text = `"${name}":"${before}"`;
  const at = bytes.indexOf(text, 0, 'latin1');
  // The text occurs more than once (such as a label of that name): only the encoder knows which one changes.
  return at < 0 || bytes.indexOf(text, at + 1, 'latin1') >= 0 ? undefined : at + text.length - 1 - before.length;
}

function inOwnMemory(text: string): Buffer {
  const bytes = ownMemory(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** Encodes in pieces: V8 takes half as long for metadata, spec and status of a pod as for the whole object. */
function textOf(object: KubernetesObject & { readonly spec?: unknown; readonly status?: unknown }): string {
  const { kind, apiVersion, metadata, spec, status, ...rest } = asWritten(object);
  const { resourceVersion: _, ...meta } = metadata;
  let text = stringifyJson({ kind, apiVersion, metadata: meta }).slice(0, -1);
  if (spec !== undefined) text += `,"spec":${stringifyJson(spec)}`;
  if (status !== undefined) text += `,"status":${stringifyJson(status)}`;
  const others = stringifyJson(rest);
  return others === '{}' ? `${text}}` : `${text},${others.slice(1)}`;
}

/** Encodes outside of Buffer's pool: a long-lived cell would keep the 64 KB that it shares with others. */
function ownMemory(length: number): Buffer {
  return Buffer.allocUnsafeSlow(length);
}

/** The object with another resourceVersion; everything else is shared. */
export function withResourceVersion<T extends KubernetesObject>(object: T, revision: number): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

interface Spliced {
  readonly json: Buffer;
  /** Offset and length of the resourceVersion. */
  readonly cut: number;
  readonly length: number;
}

/** Offset of the first field of the metadata; undefined for values of another layout. */
function cutOf(value: Buffer): number | undefined {
  const at = value.subarray(0, HEAD_LIMIT).indexOf(metadataKey);
  return at < 0 ? undefined : at + metadataKey.length;
}

/** What stands at the cut of the JSON text and not in the stored bytes. */
function versionText(value: Buffer, cut: number, revision: number): string {
  return `"resourceVersion":"${revision}"${value[cut] === closeBrace ? '' : ','}`;
}

function splice(value: Buffer, revision: number): Spliced | undefined {
  const cut = cutOf(value);
  if (cut === undefined) return undefined;
  const inserted = versionText(value, cut, revision);
  const { length } = inserted;
  const json = ownMemory(value.length + length);
  value.copy(json, 0, 0, cut);
  json.write(inserted, cut, 'latin1');
  value.copy(json, cut + length, cut);
  return { json, cut, length };
}

/** Offset of the end of the JSON object that is open at `at`. */
function objectEnd(bytes: Buffer, at: number): number {
  for (let depth = 1, index = at; ; index++) {
    const byte = bytes[index];
    if (byte === quote) index = stringEnd(bytes, index + 1);
    else if (byte === openBrace) depth++;
    else if (byte === closeBrace && --depth === 0) return index + 1;
    else if (byte === undefined) return index;
  }
}

/** Offset of the quote that ends the string whose first byte is at `at`. */
function stringEnd(bytes: Buffer, at: number): number {
  let index = at;
  for (; index < bytes.length && bytes[index] !== quote; index++) if (bytes[index] === backslash) index++;
  return index;
}

/** A form of an object that cannot be made again from the bytes. */
class Given {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** One revision of one object. */
export class RevisionCell {
  readonly key: string;
  /** Revision of the change that made this state: the resourceVersion. */
  readonly revision: number;
  /** The cell whose state this one shows under a later revision. */
  readonly origin: RevisionCell | undefined;
  #value: Buffer | undefined;
  #spliced: Spliced | undefined;
  #object: Stored<KubernetesObject> | undefined;
  /** The object of a resting cell: available as long as others hold it. */
  #resting: WeakRef<Stored<KubernetesObject>> | undefined;
  /** Whether the bytes have the layout of `encodeStored`. */
  readonly #places: Places | undefined;
  /** Other forms by name. A list, since nearly always there is one. */
  #views: readonly unknown[] | undefined;

  constructor(key: string, revision: number, value: Uint8Array, origin?: RevisionCell) {
    this.origin = origin;
    this.key = key;
    this.revision = revision;
    this.#value = asBuffer(value);
    const made = encoded.get(value);
    this.#places = made?.places;
    if (made === undefined) return;
    encoded.delete(value);
    this.#object = withResourceVersion(made.object, revision) as Stored<KubernetesObject>;
  }

  /** The stored bytes while they are in memory, if this process made them. */
  get own(): { readonly bytes: Buffer; readonly places: Places } | undefined {
    if (this.#value === undefined || this.#places === undefined) return undefined;
    return { bytes: this.#value, places: this.#places };
  }

  /** Bytes in memory that hold the state. */
  get byteLength(): number {
    return (this.#spliced?.json ?? this.#value!).length;
  }

  /** JSON text with the resourceVersion. The first call replaces the stored bytes in memory by it. */
  json(): Buffer {
    if (this.#spliced === undefined) {
      this.#spliced = splice(this.#value!, this.revision) ?? {
        json: Buffer.from(stringifyJson(asWritten(this.object()))),
        cut: 0,
        length: -1,
      };
      this.#value = undefined;
    }
    return this.#spliced.json;
  }

  /**
   * The same text in pieces, for an answer that is written once. Nothing is made that stays: most of what is created is never
   * asked for as text again.
   */
  jsonPieces(): readonly Buffer[] {
    const value = this.#value;
    const cut = value === undefined ? undefined : cutOf(value);
    if (value === undefined || cut === undefined) return [this.json()];
    const inserted = Buffer.from(versionText(value, cut, this.revision), 'latin1');
    return [value.subarray(0, cut), inserted, value.subarray(cut)];
  }

  /** The object, with its resourceVersion. Shared: never change it. */
  object(): Stored<KubernetesObject> {
    if (this.#object === undefined) {
      this.#object = this.#resting?.deref() ?? this.#decoded();
      this.#resting = undefined;
    }
    return this.#object;
  }

  #decoded(): Stored<KubernetesObject> {
    const text = (this.#spliced?.json ?? this.#value!).toString('utf8');
    const { value } = parseJson(text);
    const object = (text.includes(':null') ? asRead(value) : value) as Stored<KubernetesObject>;
    object.metadata.resourceVersion = String(this.revision);
    return object;
  }

  /**
   * The metadata with its resourceVersion, read from bytes that begin with `head` (kind and apiVersion). Decodes nothing else
   * and keeps nothing. Undefined when the bytes begin otherwise.
   */
  metadata(head: Buffer): ObjectMeta | undefined {
    if (this.#spliced !== undefined && this.#spliced.length < 0) return undefined;
    const bytes = this.#spliced?.json ?? this.#value!;
    const start = head.length + metadataKey.length;
    if (bytes.length < start || !head.equals(bytes.subarray(0, head.length))) return undefined;
    if (!metadataKey.equals(bytes.subarray(head.length, start))) return undefined;
    if (this.#object !== undefined) return this.#object.metadata;
    const { value } = parseJson(bytes.toString('utf8', start - 1, objectEnd(bytes, start)));
    const metadata = value as ObjectMeta;
    metadata.resourceVersion = String(this.revision);
    return metadata;
  }

  /** Drops the decoded object of an old revision, which is kept only for late readers; the bytes still hold it. */
  dropDecoded(): void {
    this.#object = undefined;
    this.#resting = undefined;
  }

  /**
   * Keeps the object only weakly until it is read again: after a quiet time most objects were last needed when written. Other
   * forms are dropped and made again on demand. Memory can be collected from the next turn on, since a WeakRef that is made
   * or read holds its target for the turn.
   */
  rest(): void {
    if (this.#views !== undefined) {
      const given = this.#views.filter((_, at, views) => views[at | 1] instanceof Given);
      this.#views = given.length === 0 ? undefined : given;
    }
    if (this.#object !== undefined) {
      this.#resting = new WeakRef(this.#object);
      this.#object = undefined;
    } else if (this.#resting !== undefined && this.#resting.deref() === undefined) this.#resting = undefined;
  }

  /** Whether the object is decoded. */
  get isDecoded(): boolean {
    return this.#object !== undefined;
  }

  /** Takes the writer's object, which saves decoding. It must equal what the bytes hold, with resourceVersion. */
  adopt(object: KubernetesObject): void {
    this.#object ??= object as Stored<KubernetesObject>;
  }

  /** Another form of this revision (an older API version, selectable fields), made once. */
  view<V>(name: string, make: () => V): V {
    const at = this.#views?.indexOf(name) ?? -1;
    if (at >= 0) {
      const known = this.#views![at + 1];
      return (known instanceof Given ? known.value : known) as V;
    }
    const made = make();
    this.#addView(name, made);
    return made;
  }

  /** Sets a form that this process cannot make (a webhook converted it). It is kept while the cell rests. */
  giveView(name: string, value: unknown): void {
    if (!this.hasView(name)) this.#addView(name, new Given(value));
  }

  #addView(name: string, view: unknown): void {
    this.#views = this.#views === undefined ? [name, view] : [...this.#views, name, view];
  }

  /** Whether the form exists. */
  hasView(name: string): boolean {
    return this.#views?.includes(name) === true;
  }

  /** The same state under a later revision: what watchers see when an object goes away. */
  at(revision: number): RevisionCell {
    const cell = new RevisionCell(this.key, revision, this.stored(), this.origin ?? this);
    if (this.#object !== undefined) cell.adopt(withResourceVersion(this.#object, revision));
    return cell;
  }

  /** The bytes as the store has them. */
  stored(): Uint8Array {
    if (this.#value !== undefined) return this.#value;
    const { json, cut, length } = this.#spliced!;
    if (length < 0) return encodeStored(this.object());
    const stored = ownMemory(json.length - length);
    json.copy(stored, 0, 0, cut);
    json.copy(stored, cut, cut + length);
    return stored;
  }
}
