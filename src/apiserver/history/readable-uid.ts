/**
 * Authorizes reads of past states. The permission to get a name applies to the object that has it now: an earlier
 * object with that name may have been another tenant's, in a namespace of the same name.
 */
import type { KubernetesObject } from '../../api/object.ts';
import { attributesOf, decide, forbiddenError } from '../filters/authorization.ts';
import type { GenericStore, ObjectName } from '../generic-registry/generic-store.ts';
import { recordRefusal } from '../refused-requests/refusal-source.ts';
import { refuseUnauthenticated } from '../known-user.ts';
import type { RequestContext } from '../request-context.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';

const NAMESPACES = '/registry/namespaces/';

/**
 * The uid whose revisions may be read, that of the current object; undefined: every uid, for users who may `get` the
 * resource in all namespaces with any name. Rejects with 403 for other users where no object exists, and for
 * unauthenticated ones.
 */
export async function readableUid(
  store: GenericStore,
  { user, info }: Pick<RequestContext, 'user' | 'info'>,
): Promise<string | undefined> {
  refuseUnauthenticated({ user, info });
  const everywhere = { ...attributesOf(user, info), namespace: '', name: '' };
  const { decision, reason } = await decide(store.services.authorizers, everywhere);
  if (decision === 'allow') return undefined;
  const uid = livingUid(store, info);
  if (uid !== undefined) return uid;
  const refused = forbiddenError({ ...everywhere, name: info.name }, reason);
  throw recordRefusal(refused, { part: 'authorization', reason });
}

/**
 * The states of a list that a user may read: all, for users who may list the resource in all namespaces; for others
 * those of current objects. Rejects with 403 for unauthenticated users.
 */
export async function readableStates(
  store: GenericStore,
  { user, info }: Pick<RequestContext, 'user' | 'info'>,
): Promise<ReadableStates> {
  refuseUnauthenticated({ user, info });
  const everywhere = { ...attributesOf(user, info), namespace: '', name: '' };
  const { decision } = await decide(store.services.authorizers, everywhere);
  if (decision === 'allow') return { isAll: true, mayRead: () => true };
  const namespace = namespaceOf(store, info);
  const lives = ({ metadata }: KubernetesObject, current: KubernetesObject | undefined): boolean =>
    current !== undefined && metadata.uid === current.metadata.uid && !isOlder(current, namespace);
  return { isAll: false, mayRead: (cell, current) => lives(cell.object(), current?.object()) };
}

interface ReadableStates {
  /** Whether states of deleted objects are included. */
  readonly isAll: boolean;
  readonly mayRead: (cell: RevisionCell, current: RevisionCell | undefined) => boolean;
}

/** The uid of the current object; undefined where there is none or it is older than its namespace. */
function livingUid(store: GenericStore, name: ObjectName): string | undefined {
  const object = store.cache.get(store.keyOf(name))?.object();
  if (object === undefined || !store.info.namespaced) return object?.metadata.uid;
  return isOlder(object, namespaceOf(store, name)) ? undefined : object.metadata.uid;
}

function namespaceOf({ services }: GenericStore, { namespace }: ObjectName): KubernetesObject | undefined {
  return services.hub
    .cache(NAMESPACES)
    .get(NAMESPACES + namespace)
    ?.object();
}

function isOlder({ metadata }: KubernetesObject, other: KubernetesObject | undefined): boolean {
  const created = other?.metadata.creationTimestamp ?? '';
  return (metadata.creationTimestamp ?? '') < created;
}
