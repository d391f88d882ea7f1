/**
 * Keeps the v1 Endpoints of Services with selectors. Upstream: pkg/controller/endpoint.
 *
 * Watches: Services, pods, Endpoints. Writes alone: the Endpoints with the names of such Services. Differs on
 * purpose: Endpoints created by hand are deleted with a Service whose deletion is observed, but after a start the
 * controller deletes only Endpoints of its own.
 */
import type { Endpoints as EndpointsObject, Service } from '../../api/gen/core-v1.ts';
import { Endpoints, Pods, Services } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { isReason } from '../../api/status-error.ts';
import { deepEqual } from '../../base/equal.ts';
import { errorMessage } from '../../base/errors.ts';
import { stepByStep } from '../../base/steps.ts';
import { onEveryChange } from '../../client/informer.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { createBatchPeriods } from '../batch-period.ts';
import {
  type Controller,
  type ControllerDeps,
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
} from '../controller.ts';
import {
  createTriggerTimes,
  hasManagedEndpoints,
  HEADLESS_LABEL,
  isServiceIpSet,
  selectedPods,
  TRIGGER_TIME_ANNOTATION,
  watchServicesAndPods,
} from '../service-endpoints.ts';
import { sameSubsets, subsetsOf } from './subsets.ts';

const ACCOUNT = 'endpoint-controller';
const WORKERS = 5;
const MAX_RETRIES = 15;
const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity';
const MANAGED_BY = 'endpoints.kubernetes.io/managed-by';

export function createEndpointsController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT).resource(Endpoints);
  const recorder = deps.recorderFor(ACCOUNT);
  const services = deps.informers.informer(Services);
  const pods = deps.informers.informer(Pods);
  const endpoints = deps.informers.informer(Endpoints);
  const triggers = createTriggerTimes();
  const periods = createBatchPeriods();
  /** Services whose deletion was observed and whose Endpoints may still exist. */
  const gone = new Set<string>();

  const loop = createKeyedLoop(deps, {
    name: 'endpoints-controller',
    queueName: 'endpoint',
    workers: WORKERS,
    informers: informerList(services, pods, endpoints),
    sync: syncService,
    maxRetries: MAX_RETRIES,
  });

  async function syncService(key: string, signal: AbortSignal): Promise<void> {
    const service = services.get(parseKey(key));
    if (service === undefined) return await removeWithService(key, signal);
    gone.delete(key);
    if (!hasManagedEndpoints(service)) return;
    const selected = await selectedPods(service, pods, () => clock.yield());
    periods.saw(key, selected.length);
    const subsets = await stepByStep(subsetsOf(service, selected), () => clock.yield());
    const current = endpoints.get(parseKey(key));
    const next = desiredEndpoints(service, {
      current,
      ...subsets,
      triggerTime: triggers.since(service, selected),
    });
    if (next === undefined) return;
    try {
      const written =
        current === undefined ? await client.create(next, { signal }) : await client.update(next, { signal });
      await endpoints.waitForRevision(written.metadata.resourceVersion, signal);
    } catch (error) {
      if (isNamespaceTerminating(error)) return;
      const verb = current === undefined ? 'create' : 'update';
      if (!signal.aborted && !isReason(error, 'Conflict', 'AlreadyExists')) {
        const message = `Failed to ${verb} endpoint ${key}: ${errorMessage(error)}`;
        const reason = current === undefined ? 'FailedToCreateEndpoint' : 'FailedToUpdateEndpoint';
        recorder.event(current ?? service, 'Warning', reason, message);
      }
      throw error;
    }
  }

  async function removeWithService(key: string, signal: AbortSignal): Promise<void> {
    triggers.forget(key);
    periods.forget(key);
    const current = endpoints.get(parseKey(key));
    const isRemoved = gone.has(key) || current?.metadata.labels?.[MANAGED_BY] === ACCOUNT;
    if (!isRemoved) return;
    try {
      await client.delete(parseKey(key), { signal });
    } catch (error) {
      if (!isReason(error, 'NotFound')) {
        // After the last retry, Endpoints that appear there belong to somebody else.
        if (loop.queue.numRequeues(key) >= MAX_RETRIES) gone.delete(key);
        throw error;
      }
    }
    gone.delete(key);
  }

  services.addHandler({ onDelete: (service) => gone.add(keyOfObject(service)) });
  const enqueueInTime = (key: string): void => loop.queue.addAfter(key, periods.ms(key));
  watchServicesAndPods({
    platform: deps.platform,
    services,
    pods,
    enqueue: (key) => loop.queue.add(key),
    enqueueForPod: enqueueInTime,
  });
  // Most events are of the controller's own writes and need no immediate sync.
  endpoints.addHandler(onEveryChange((object) => enqueueInTime(keyOfObject(object))));
  return loop;
}

interface EndpointsInput {
  readonly current: EndpointsObject | undefined;
  readonly subsets: NonNullable<EndpointsObject['subsets']>;
  readonly truncated: boolean;
  readonly triggerTime: string | undefined;
}

/** The object to write; undefined when the current one is right. */
function desiredEndpoints(
  service: Stored<Service>,
  { current, subsets, truncated, triggerTime }: EndpointsInput,
): EndpointsObject | undefined {
  const labels: Record<string, string> = { ...service.metadata.labels };
  if (isServiceIpSet(service)) delete labels[HEADLESS_LABEL];
  else labels[HEADLESS_LABEL] = '';
  labels[MANAGED_BY] = ACCOUNT;
  const capacityRight = (current?.metadata.annotations?.[OVER_CAPACITY] === 'truncated') === truncated;
  if (
    current !== undefined &&
    capacityRight &&
    deepEqual(current.metadata.labels ?? {}, labels) &&
    sameSubsets(current.subsets, subsets)
  )
    return undefined;
  const { [TRIGGER_TIME_ANNOTATION]: _, [OVER_CAPACITY]: __, ...annotations } = current?.metadata.annotations ?? {};
  if (triggerTime !== undefined) annotations[TRIGGER_TIME_ANNOTATION] = triggerTime;
  if (truncated) annotations[OVER_CAPACITY] = 'truncated';
  const { namespace, name } = service.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      ...current?.metadata,
      namespace,
      name,
      labels,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    subsets,
  };
}
