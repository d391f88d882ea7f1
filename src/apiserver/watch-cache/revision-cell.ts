/**
 * One revision of one stored object, shared by all readers: the stored bytes, the JSON text with the resourceVersion
 * spliced in, and the decoded object, each created when first needed. Upstream has no counterpart: it decodes on
 * arrival and encodes per reader.
 *
 * Invariant: a stored value is `{"kind":…,"apiVersion":…,"metadata":{…` without resourceVersion, which is known only
 * after the commit. Values of another layout (other writers) are decoded and encoded again. Cells and their results
 * never change.
 */
import { parseJson } from '../../api/codec/json.ts';
import { asRead } from '../../api/codec/written-form.ts';
import type { ObjectMeta } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { lineOf } from '../json-text.ts';
import { arenas, encoded, encodeStored, ownMemory, type TextOffsets } from './stored-bytes.ts';
import { asBuffer, cutOf, metadataKey, objectEnd, splice, type Spliced, versionText } from './version-splice.ts';

/** Replaces a text by another of the same length: the value of the field `name`. */
export interface TextReplacement {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/**
 * The stored bytes of an object that differs from the cell's only in times of equal length: copied and overwritten
 * instead of encoded. Undefined when the result might differ from that of `encodeStored`.
 */
export function restampStored(
  cell: RevisionCell,
  stamps: readonly TextReplacement[],
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

function placeOf(bytes: Buffer, { name, before }: TextReplacement): number | undefined {
  const text = `"${name}":"${before}"`;
  const at = bytes.indexOf(text, 0, 'latin1');
  // The text occurs more than once (such as a label of that name): only the encoder knows which one changes.
  return at < 0 || bytes.indexOf(text, at + 1, 'latin1') >= 0 ? undefined : at + text.length - 1 - before.length;
}

/** The object with another resourceVersion; everything else is shared. */
export function withResourceVersion<T extends KubernetesObject>(object: T, revision: number): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

const lineEnd = Buffer.from('\n');

/** A form of an object that cannot be recreated from the bytes. */
class UnusualForm {
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
  readonly #places: TextOffsets | undefined;
  /** Other forms by name. A list, since there is nearly always just one. */
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
  get own(): { readonly bytes: Buffer; readonly places: TextOffsets } | undefined {
    if (this.#value === undefined || this.#places === undefined) return undefined;
    return { bytes: this.#value, places: this.#places };
  }

  /** Bytes in memory that hold the state. */
  get byteLength(): number {
    return (this.#spliced?.line ?? this.#value!).length;
  }

  /** JSON text with the resourceVersion and a newline. The first call replaces the stored bytes in memory by it. */
  jsonLine(): Buffer {
    if (this.#spliced === undefined) {
      this.#spliced = splice(this.#value!, this.revision) ?? {
        line: lineOf(this.object()),
        cut: 0,
        length: -1,
      };
      this.#value = undefined;
    }
    return this.#spliced.line;
  }

  /**
   * The same text in pieces, for a response that is written once. Nothing is cached: most created objects are never
   * needed as text again.
   */
  jsonPieces(): readonly Buffer[] {
    const value = this.#value;
    const cut = value === undefined ? undefined : cutOf(value);
    if (value === undefined || cut === undefined) return [this.jsonLine()];
    const inserted = Buffer.from(versionText(value, cut, this.revision), 'latin1');
    return [value.subarray(0, cut), inserted, value.subarray(cut), lineEnd];
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
    const text = (this.#spliced?.line ?? this.#value!).toString('utf8');
    const { value } = parseJson(text);
    const object = (text.includes(':null') ? asRead(value) : value) as Stored<KubernetesObject>;
    object.metadata.resourceVersion = String(this.revision);
    return object;
  }

  /**
   * The metadata with its resourceVersion, read from bytes that begin with `head` (kind and apiVersion). Decodes
   * nothing else and caches nothing. Undefined when the bytes begin differently.
   */
  metadata(head: Buffer): ObjectMeta | undefined {
    if (this.#spliced !== undefined && this.#spliced.length < 0) return undefined;
    const bytes = this.#spliced?.line ?? this.#value!;
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
   * Keeps the object only weakly until it is read again: after an idle period most objects were last needed when they
   * were written. Other forms are dropped and recreated on demand. Memory can be collected from the next turn on,
   * since creating or reading a WeakRef holds its target for the turn.
   */
  rest(): void {
    if (this.#views !== undefined) {
      const unusual = this.#views.filter((_, at, views) => views[at | 1] instanceof UnusualForm);
      this.#views = unusual.length === 0 ? undefined : unusual;
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

  /** Takes over the writer's object, which saves decoding. It must equal the bytes, with resourceVersion. */
  adopt(object: KubernetesObject): void {
    this.#object ??= object as Stored<KubernetesObject>;
  }

  /** Another form of this revision (an older API version, selectable fields), computed once. */
  view<V>(name: string, make: () => V): V {
    const at = this.#views?.indexOf(name) ?? -1;
    if (at >= 0) {
      const cached = this.#views![at + 1];
      return (cached instanceof UnusualForm ? cached.value : cached) as V;
    }
    const made = make();
    this.#addView(name, made);
    return made;
  }

  /** Sets a form that this process cannot compute (a webhook converted it). It is kept while the cell rests. */
  setView(name: string, value: unknown): void {
    if (!this.hasView(name)) this.#addView(name, new UnusualForm(value));
  }

  #addView(name: string, view: unknown): void {
    this.#views = this.#views === undefined ? [name, view] : [...this.#views, name, view];
  }

  /** Whether the form exists. */
  hasView(name: string): boolean {
    return this.#views?.includes(name) === true;
  }

  /** The same state under a later revision: what watchers see of a deleted object. */
  at(revision: number): RevisionCell {
    const cell = new RevisionCell(this.key, revision, this.stored(), this.origin ?? this);
    if (this.#object !== undefined) cell.adopt(withResourceVersion(this.#object, revision));
    return cell;
  }

  /** The bytes as the store has them. */
  stored(): Uint8Array {
    if (this.#value !== undefined) return this.#value;
    const { line, cut, length } = this.#spliced!;
    if (length < 0) return encodeStored(this.object());
    const stored = ownMemory(line.length - 1 - length);
    line.copy(stored, 0, 0, cut);
    line.copy(stored, cut, cut + length, line.length - 1);
    return stored;
  }
}
