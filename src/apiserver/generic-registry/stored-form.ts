/** The form in which an object is stored, compared with that in which it is served. Upstream: the codec of storage.Interface. */
import type { KubernetesObject } from '../../api/object.ts';
import { apiVersionOf } from '../../api/resource-info.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { GenericStore } from './generic-store.ts';
import { isSame } from './same-object.ts';

/**
 * Whether a write of the cell's unchanged object would store what is stored. It would not where the object is stored in
 * another version or has fields that the schemas have lost: writers that change nothing migrate such objects.
 */
export function isInStoredForm(
  store: GenericStore,
  object: KubernetesObject,
  cell: RevisionCell,
): boolean | Promise<boolean> {
  const { definition, stored } = store;
  const raw = cell.object();
  if (definition.reading === undefined) return raw.apiVersion === apiVersionOf(stored.info);
  if (store.object(cell) === raw) return definition === stored;
  const written = store.toStored(object);
  return written instanceof Promise ? written.then((later) => isSame(later, raw)) : isSame(written, raw);
}

/** The object as this version reads it once it is stored. Upstream: DryRunnableStorage.copyInto. */
export function asStored(store: GenericStore, object: KubernetesObject): KubernetesObject | Promise<KubernetesObject> {
  const { reading } = store.definition;
  if (reading === undefined) return object;
  if (store.definition === store.stored) return reading.read(object);
  const { convert } = reading;
  const written = store.toStored(object);
  if (!(written instanceof Promise)) return reading.read(written);
  return written.then(async (later) => {
    const [converted] = convert === undefined ? [] : await convert.fromStored([later]);
    return converted === undefined ? object : convert!.served(converted);
  });
}
