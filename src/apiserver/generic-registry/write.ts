/** Compare-and-swap writes of objects, and the common parts of the writing verbs. */
import { canonicalize } from '../../api/codec/canonical.ts';
import { checkStoredParts } from '../../api/codec/parts.ts';
import { type KubernetesObject, objectOf } from '../../api/object.ts';
import { statusFailure } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import { type AdmissionAttributes, type AdmissionOperation, newReinvocation } from '../admission/contract.ts';
import type { RequestContext } from '../request-context.ts';
import { type RevisionCell, RevisionCell as Cell, withResourceVersion } from '../watch-cache/revision-cell.ts';
import { encodeStored, type ShortLife } from '../watch-cache/stored-bytes.ts';
import type { GenericStore, ObjectName } from './generic-store.ts';

/** The input of every write. */
export interface WriteRequest {
  readonly context: RequestContext;
  readonly dryRun: boolean;
  /** Field manager's name. */
  readonly manager: string;
  /** Options of the verb (CreateOptions …), for admission. */
  readonly options: object;
}

/** The result of a write. */
export interface WriteOutcome {
  readonly object: KubernetesObject;
  /** The stored cell; absent for dry runs and where it need not be kept. */
  readonly cell?: RevisionCell;
  readonly created: boolean;
}

/** A write that lost its compare-and-swap. */
export interface LostWrite {
  readonly lost: true;
  /** The current cell, if any. */
  readonly current: RevisionCell | undefined;
}

/** A write to be tried. `expect` 0: the object must not exist. */
export interface PutObject {
  readonly key: string;
  readonly object: KubernetesObject;
  readonly expect: number;
  readonly created: boolean;
  /** How long the object is kept. Absent: until it is changed, or for the definition's time to live. */
  readonly life?: ShortLife;
  /** The writing request; absent for the server's own writes. */
  readonly request?: WriteRequest | undefined;
  /** The stored bytes, if the writer has them already. */
  readonly value?: Uint8Array | undefined;
}

/** etcd's limit, 1.5 MiB, for every store: an object that fits one fits all. Upstream answers 500 with the same text. */
const MAX_VALUE_BYTES = 1.5 * 1024 * 1024;

/** Stores an object of the served version. */
export async function putObject(store: GenericStore, put: PutObject): Promise<WriteOutcome | LostWrite> {
  const converting = store.toStored(put.object);
  const stored = converting instanceof Promise ? await converting : converting;
  const { ttlSeconds } = store.definition;
  // Objects that expire (events) are many and mostly read as bytes or not at all.
  const life = ttlSeconds === undefined ? put.life : 'expiring';
  const value = put.value ?? encodeStored(stored, life);
  if (value.length > MAX_VALUE_BYTES)
    throw statusFailure(413, 'RequestEntityTooLarge', 'etcdserver: request is too large');
  checkStoredParts(stored, value.length);
  const result = await store.services.store.put({
    key: put.key,
    value,
    expectRevision: put.expect,
    ttlSeconds,
  });
  if (!result.ok) {
    const { current } = result;
    return { lost: true, current: current && new Cell(put.key, current.modRevision, current.value) };
  }
  recordAuthor(
    store,
    { key: put.key, revision: result.revision, verb: put.created ? 'create' : 'update' },
    put.request,
  );
  const isStoredForm = store.definition === store.stored;
  const ofRevision = (object: KubernetesObject): KubernetesObject => withResourceVersion(object, result.revision);
  if (life === 'expiring' && isStoredForm) return { object: ofRevision(put.object), created: put.created };
  let cell = store.cache.get(put.key);
  if (cell?.revision !== result.revision) cell = new Cell(put.key, result.revision, value);
  if (!cell.isDecoded) cell.adopt(ofRevision(stored));
  const preparing = store.prepare([cell]);
  if (preparing !== undefined) await preparing;
  return { object: store.object(cell), cell, created: put.created };
}

/** Records the author of a change in the history. */
export function recordAuthor(
  { services }: GenericStore,
  { key, revision, verb }: { readonly key: string; readonly revision: number; readonly verb: string },
  request: Pick<WriteRequest, 'context' | 'manager'> | undefined,
): void {
  if (services.history === undefined) return;
  const { user, info } = request?.context ?? {};
  services.history.noteAuthor(key, revision, {
    user: user?.name ?? 'system:apiserver',
    manager: request?.manager ?? '',
    verb: info?.verb ?? verb,
    subresource: info?.subresource ?? '',
  });
}

/**
 * The object as readers of the stored bytes decode it: without undefined and zero fields that strategies leave
 * behind, and with defaults that depend on other fields (a job's labels from its template's), which upstream sets on
 * reading.
 */
export function canonical(
  store: GenericStore,
  draft: KubernetesObject,
  /** The stored object the draft may share parts with. */
  old?: KubernetesObject,
): KubernetesObject {
  const object = objectOf(canonicalize(store.schema, draft, old));
  // Those of custom resources depend on no other field, and what is read in another version has none.
  if (store.definition.schema === undefined) store.definition.strategy.applyDefaults?.(object);
  return object;
}

const secondTexts = { second: Number.NaN, text: '' };

/** The present time as metadata has it. The text is cached for a second. */
export function nowText(store: GenericStore): string {
  const nowMs = store.services.clock.nowMs();
  const second = Math.floor(nowMs / 1000);
  if (second !== secondTexts.second) {
    secondTexts.second = second;
    secondTexts.text = formatTime(nowMs);
  }
  return secondTexts.text;
}

export function admissionAttributes(
  store: GenericStore,
  request: WriteRequest,
  target: ObjectName & {
    operation: AdmissionOperation;
    subresource: string;
    object?: KubernetesObject;
    oldObject?: KubernetesObject;
  },
): AdmissionAttributes {
  const { context, dryRun, options } = request;
  const resource = store.info as AdmissionAttributes['resource'];
  return { ...target, resource, options, dryRun, context, reinvocation: newReinvocation() };
}
