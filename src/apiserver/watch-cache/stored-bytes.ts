/** The bytes of stored objects, and the offsets of texts that each revision overwrites. */
import { stringifyJson } from '../../api/codec/json.ts';
import { asWritten } from '../../api/codec/written-form.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { ByteArena } from '../../base/byte-arena.ts';

/**
 * Objects by their encoded bytes, until a cell is created from the bytes. A store in this process delivers the bytes
 * it was given, so the cell need not decode them. Then the entry is removed, since the store keeps the bytes of every
 * revision for minutes.
 */
export const encoded = new WeakMap<Uint8Array, Encoded>();

interface Encoded {
  readonly object: KubernetesObject;
  /** Undefined when the bytes were read from a store and may have another layout. */
  readonly places: TextOffsets | undefined;
}

/** Offsets of overwritten texts in the bytes, which the next revision has at the same places. */
export type TextOffsets = Readonly<Record<string, number>>;

const NO_PLACES: TextOffsets = {};

/**
 * The kinds of short-lived values; values of one kind share memory, since they end at about the same time. `renewed`:
 * replaced within seconds (leases). `expiring`: expires after its time to live (events), and is rarely decoded
 * before.
 */
export type ShortLife = 'renewed' | 'expiring';

/** One arena per kind: a value that lives an hour would keep memory shared with values of seconds. */
export const arenas: Readonly<Record<ShortLife, ByteArena>> = { renewed: new ByteArena(), expiring: new ByteArena() };

/**
 * Encodes an object for the store: kind, apiVersion and metadata first, without resourceVersion. The object must
 * equal what a reader decodes from the bytes, and must not be changed later: unless it is `expiring`, the cell of
 * these bytes shares it.
 */
export function encodeStored(object: KubernetesObject, life?: ShortLife): Uint8Array {
  const text = textOf(object);
  const bytes = life === undefined ? inOwnMemory(text) : arenas[life].encode(text);
  if (life !== 'expiring') encoded.set(bytes, { object, places: NO_PLACES });
  return bytes;
}

function inOwnMemory(text: string): Buffer {
  const bytes = ownMemory(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** Encodes in pieces: V8 takes half as long for a pod's metadata, spec and status separately. */
function textOf(object: KubernetesObject & { readonly spec?: unknown; readonly status?: unknown }): string {
  const { kind, apiVersion, metadata, spec, status, ...rest } = asWritten(object);
  const { resourceVersion: _, ...meta } = metadata;
  let text = stringifyJson({ kind, apiVersion, metadata: meta }).slice(0, -1);
  if (spec !== undefined) text += `,"spec":${stringifyJson(spec)}`;
  if (status !== undefined) text += `,"status":${stringifyJson(status)}`;
  const others = stringifyJson(rest);
  return others === '{}' ? `${text}}` : `${text},${others.slice(1)}`;
}

/** A buffer outside Buffer's pool: a long-lived cell would keep the 64 KB that it shares with others. */
export function ownMemory(length: number): Buffer {
  return Buffer.allocUnsafeSlow(length);
}
