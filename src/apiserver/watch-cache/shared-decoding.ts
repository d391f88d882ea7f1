/**
 * Decodes values that are in the stores of several servers of this process (forks of a simulated cluster) once: their
 * cells share the object. Upstream has no counterpart.
 */
import type { KubernetesObject } from '../../api/object.ts';
import type { StoredEntry } from '../../storage/store.ts';
import { RevisionCell } from './revision-cell.ts';
import { encoded } from './stored-bytes.ts';
import { asBuffer, cutOf } from './version-splice.ts';

const decoded = new WeakMap<Uint8Array, KubernetesObject>();

/** Lets the next cell of these bytes share their decoded object. Values other than objects are skipped. */
export function shareDecoded({ key, value, modRevision }: StoredEntry): void {
  if (cutOf(asBuffer(value)) === undefined) return;
  let object = decoded.get(value);
  if (object === undefined) decoded.set(value, (object = new RevisionCell(key, modRevision, value).object()));
  encoded.set(value, { object, places: undefined });
}
