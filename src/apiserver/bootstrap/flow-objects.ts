/**
 * Creates the flow schemas and priority levels of every cluster and updates them. Upstream: registry/flowcontrol/ensurer.
 * Mandatory objects are always reset; of `exempt` an operator may set the shares. Suggested objects are updated while their
 * annotation `apf.kubernetes.io/autoupdate-spec` is `true`, or is absent and no user has changed the object. An object with the
 * annotation that is in no list was suggested by another version, and is deleted.
 */
import { addInt64 } from '../../api/int64.ts';
import { deepEqual } from '../../base/equal.ts';
import type {
  FlowSchema,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
} from '../../api/gen/flowcontrol-v1.ts';
import { FlowSchemas, PriorityLevelConfigurations } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { StatusError } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import { danglingCondition } from '../flowcontrol/dangling-condition.ts';
import { ownContext } from '../own-context.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { bootstrapFlowSchemas, bootstrapPriorityLevels, MANDATORY_FLOW_OBJECTS } from './objects.ts';

const ANNOTATION = 'apf.kubernetes.io/autoupdate-spec';

type FlowObject = KubernetesObject & { spec?: object };

/** Creates, updates and removes what must be. Idempotent. */
export async function ensureFlowObjects(objects: ObjectStore, nowMs: number): Promise<void> {
  const levels = bootstrapPriorityLevels();
  await Promise.all([
    ensureKind(objects, PriorityLevelConfigurations, levels),
    ensureKind(objects, FlowSchemas, newFlowSchemas(levels, nowMs)),
  ]);
}

/** The flow schemas with the condition that they would get a moment later: their levels are created with them. */
function newFlowSchemas(levels: readonly PriorityLevelConfiguration[], nowMs: number): FlowSchema[] {
  const names = new Set(levels.map(({ metadata }) => metadata.name));
  const lastTransitionTime = formatTime(nowMs);
  return bootstrapFlowSchemas().map((schema) => ({
    ...schema,
    status: { conditions: [{ lastTransitionTime, ...danglingCondition(schema, names) }] },
  }));
}

async function ensureKind<T extends FlowObject>(
  objects: ObjectStore,
  info: ResourceInfo<T>,
  all: readonly T[],
): Promise<void> {
  const names = new Set(all.map(({ metadata }) => metadata.name ?? ''));
  const obsolete = objects
    .list(info)
    .filter(({ metadata }) => !names.has(metadata.name) && metadata.annotations?.[ANNOTATION] === 'true');
  await Promise.all([
    ...all.map((wanted) => ensureObject(objects, info, wanted)),
    ...obsolete.map((object) => remove(objects, info, object)),
  ]);
}

async function ensureObject<T extends FlowObject>(
  objects: ObjectStore,
  info: ResourceInfo<T>,
  wanted: T,
): Promise<void> {
  const current = await objects.ensure(info, wanted, { isCanonical: true });
  if (repairedFlowObject(current, wanted) === undefined) return;
  await objects.guaranteedUpdate(info, '', wanted.metadata.name ?? '', (now) => repairedFlowObject(now, wanted));
}

async function remove(objects: ObjectStore, info: ResourceInfo, { metadata }: KubernetesObject): Promise<void> {
  const { name = '', uid, resourceVersion } = metadata;
  const preconditions = {
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
  try {
    await objects.delete(info, { namespace: '', name }, { preconditions }, ownContext('delete', info, { name }));
  } catch (error) {
    // Already deleted, or changed by another writer: the next reconciliation decides.
    if (!(error instanceof StatusError) || (error.status.code !== 404 && error.status.code !== 409)) throw error;
  }
}

/** The changed copy; undefined when it is as it should be, or not ours to change. */
export function repairedFlowObject<T extends FlowObject>(current: T, wanted: T): T | undefined {
  const { name = '', annotations, generation = 0 } = current.metadata;
  const mandatory = MANDATORY_FLOW_OBJECTS.has(name);
  const annotated = annotations?.[ANNOTATION];
  const updates = mandatory || (annotated === undefined ? generation <= 1 : annotated === 'true');
  const marked = annotated ?? String(updates);
  const spec = mandatory ? mandatorySpec(current, wanted) : updates ? wanted.spec : current.spec;
  const same = deepEqual(spec, current.spec);
  if (same && marked === annotated) return undefined;
  return {
    ...current,
    metadata: {
      ...current.metadata,
      annotations: { ...annotations, [ANNOTATION]: marked },
      ...(same ? {} : { generation: addInt64(generation, 1) }),
    },
    ...(spec === undefined ? {} : { spec }),
  };
}

/** As it must be, but for the shares of the exempt level. */
function mandatorySpec({ spec }: FlowObject, wanted: FlowObject): object | undefined {
  const { type, exempt } = (spec ?? {}) as Partial<PriorityLevelConfigurationSpec>;
  return type === 'Exempt' && exempt !== undefined ? { ...wanted.spec, exempt } : wanted.spec;
}
