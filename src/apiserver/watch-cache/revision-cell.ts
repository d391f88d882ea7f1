/**
 * One revision of one stored object, shared by every reader: the stored bytes, the JSON text with the resourceVersion
 * spliced in, and the decoded object, each made when first asked for. Upstream has no counterpart: it decodes on arrival
 * and encodes per reader.
 *
 * Invariant: a stored value is `{"kind":…,"apiVersion":…,"metadata":{…` without resourceVersion, which is known only
 * after the commit. Values of another layout (foreign writers) are decoded and written anew. Cells and what they return
 * never change.
 */
import type { KubernetesObject } from '../../api/object.ts';
import { parseJson, stringifyJson } from '../../api/codec/json.ts';

const metadataKey = Buffer.from('"metadata":{');
/** kind and apiVersion, which come first, are shorter than this. */
const headLimit = 512;

/** Stored bytes of an object: kind, apiVersion and metadata first, no resourceVersion. */
export function encodeStored(object: KubernetesObject): Uint8Array {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _, ...meta } = metadata;
  return Buffer.from(stringifyJson({ kind, apiVersion, metadata: meta, ...rest }));
}

/** The object with another resourceVersion; everything else is shared. */
export function withResourceVersion<T extends KubernetesObject>(object: T, revision: number): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function splice(value: Buffer, revision: number): Buffer | undefined {
  const at = value.subarray(0, headLimit).indexOf(metadataKey);
  if (at < 0) return undefined;
  const cut = at + metadataKey.length;
  const separator = value[cut] === 0x7d ? '' : ',';
  const inserted = `"resourceVersion":"${revision}"${separator}`;
  const out = Buffer.allocUnsafe(value.length + inserted.length);
  value.copy(out, 0, 0, cut);
  out.write(inserted, cut, 'latin1');
  value.copy(out, cut + inserted.length, cut);
  return out;
}

/** One revision of one object. */
export class RevisionCell {
  readonly key: string;
  /** Revision of the change that made this state: the resourceVersion. */
  readonly revision: number;
  #value: Buffer | undefined;
  #json: Buffer | undefined;
  #object: KubernetesObject | undefined;
  #views: Map<string, unknown> | undefined;

  constructor(key: string, revision: number, value: Uint8Array) {
    this.key = key;
    this.revision = revision;
    this.#value = asBuffer(value);
  }

  /** JSON text with the resourceVersion. From the first call on it replaces the stored bytes in memory. */
  json(): Buffer {
    if (this.#json === undefined) {
      this.#json = splice(this.#value!, this.revision) ?? Buffer.from(stringifyJson(this.object()));
      this.#value = undefined;
    }
    return this.#json;
  }

  /** The object, with its resourceVersion. Shared: never change it. */
  object(): KubernetesObject {
    if (this.#object === undefined) {
      const { value } = parseJson((this.#json ?? this.#value!).toString('utf8'));
      const object = value as KubernetesObject;
      object.metadata.resourceVersion = String(this.revision);
      this.#object = object;
    }
    return this.#object;
  }

  /** Whether a value is what this cell was made of. */
  holds(value: Uint8Array): boolean {
    if (this.#value !== undefined) return this.#value.equals(value);
    return splice(asBuffer(value), this.revision)?.equals(this.#json!) ?? false;
  }

  /** Spares the decoding when the writer still has the object. It must be what the bytes say, with resourceVersion. */
  adopt(object: KubernetesObject): void {
    this.#object ??= object;
  }

  /** Another form of this revision (an older API version, selectable fields), made once. */
  view<V>(name: string, make: () => V): V {
    this.#views ??= new Map();
    if (!this.#views.has(name)) this.#views.set(name, make());
    return this.#views.get(name) as V;
  }

  /** The same state under a later revision: what watchers see when an object goes away. */
  at(revision: number): RevisionCell {
    const cell = new RevisionCell(this.key, revision, this.#value ?? encodeStored(this.object()));
    if (this.#object !== undefined) cell.adopt(withResourceVersion(this.#object, revision));
    return cell;
  }
}
