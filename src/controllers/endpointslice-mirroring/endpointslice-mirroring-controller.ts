/**
 * Mirrors Endpoints of services without selector, which users write, into EndpointSlices. Upstream:
 * pkg/controller/endpointslicemirroring.
 *
 * Watches: Endpoints, Services, its EndpointSlices. Writes alone: slices managed by
 * endpointslicemirroring-controller.k8s.io.
 */
import { stepByStep } from '../../base/steps.ts';
import { Endpoints as EndpointsInfo, EndpointSlices, Services } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import type { Endpoints } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { Stored } from '../../api/object.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { createEndpointSliceMetrics } from '../endpoint-slice-metrics.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
  type ControllerDeps,
} from '../controller.ts';
import { createMirrorMetrics } from './mirror-metrics.ts';
import { MANAGED_BY_LABEL, MANAGER, planMirrorSteps, SERVICE_NAME_LABEL } from './mirror-plan.ts';

const ACCOUNT = 'endpointslicemirroring-controller';
const NAME = 'endpointslice-mirroring-controller';
const RECORDER = 'endpoint-slice-mirroring-controller';
const WORKERS = 5;
const SKIP_LABEL = 'endpointslice.kubernetes.io/skip-mirror';
const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader';
const MIRRORS_BY_SERVICE = 'mirrors-by-service';

/** Whether the object is labelled to be skipped. */
function isSkipped({ metadata }: Endpoints): boolean {
  return metadata.labels?.[SKIP_LABEL] === 'true' || metadata.annotations?.[LEADER_ANNOTATION] !== undefined;
}

export function createEndpointSliceMirroringController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT).resource(EndpointSlices);
  const recorder = deps.recorderFor(RECORDER);
  const { clock } = deps.platform;
  const mirrored = createMirrorMetrics(deps.platform.metrics);
  const metrics = createEndpointSliceMetrics(deps.platform.metrics, 'endpoint_slice_mirroring_controller');
  const endpoints = deps.informers.informer(EndpointsInfo);
  const services = deps.informers.informer(Services);
  const slices = deps.informers.informer(EndpointSlices);
  const serviceOf = ({ metadata: { namespace, labels = {} } }: Stored<EndpointSlice>): string =>
    `${namespace}/${labels[SERVICE_NAME_LABEL] ?? ''}`;
  const isMirror = (slice: EndpointSlice): boolean => slice.metadata.labels?.[MANAGED_BY_LABEL] === MANAGER;
  slices.addIndex(MIRRORS_BY_SERVICE, (slice) => (isMirror(slice) ? [serviceOf(slice)] : []));
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'endpoint_slice_mirroring',
    workers: WORKERS,
    informers: informerList(endpoints, services, slices),
    sync: timedSync,
  });

  async function timedSync(key: string, signal: AbortSignal): Promise<void> {
    const startedMs = clock.monotonicMs();
    await syncEndpoints(key, signal).finally(() => mirrored.took((clock.monotonicMs() - startedMs) / 1000));
  }
  async function syncEndpoints(key: string, signal: AbortSignal): Promise<void> {
    const source = endpoints.get(parseKey(key));
    const service = services.get(parseKey(key));
    const existing = slices.byIndex(MIRRORS_BY_SERVICE, key);
    const mirrors =
      source !== undefined && !isSkipped(source) && service !== undefined && service.spec?.selector === undefined;
    if (!mirrors) {
      for (const slice of existing) await remove(slice, signal);
      return metrics.forget(key);
    }
    const plan = await stepByStep(planMirrorSteps(source, existing), () => clock.yield());
    if (plan.skipped > 0)
      recorder.event(
        source,
        'Warning',
        'TooManyAddressesToMirror',
        `A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. ${plan.skipped} addresses were skipped`,
      );
    let newest = '';
    try {
      for (const slice of plan.create) newest = (await client.create(slice, { signal })).metadata.resourceVersion;
      for (const slice of plan.update) newest = (await client.update(slice, { signal })).metadata.resourceVersion;
      for (const slice of plan.remove) await remove(slice, signal);
      await stepByStep(metrics.changed({ key, existing, ...plan }), () => clock.yield());
      mirrored.mirrored(existing, plan);
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error;
    } finally {
      // The server generates the names: without the new slices in its cache the next sync would create them again.
      if (newest !== '') await slices.waitForRevision(newest, signal);
    }
  }

  async function remove(slice: EndpointSlice, signal: AbortSignal): Promise<void> {
    await client.delete(parseKey(keyOfObject(slice)), { signal }).catch(ignoreNotFound);
  }

  const enqueue = (object: Endpoints): void => loop.queue.add(keyOfObject(object));
  endpoints.addHandler({ onAdd: enqueue, onUpdate: (_, object) => enqueue(object), onDelete: enqueue });
  services.addHandler({ onAdd: enqueue, onUpdate: (_, service) => enqueue(service), onDelete: enqueue });
  const enqueueMirror = (slice: Stored<EndpointSlice>): void => {
    if (isMirror(slice)) loop.queue.add(serviceOf(slice));
  };
  slices.addHandler({ onAdd: enqueueMirror, onUpdate: (_, slice) => enqueueMirror(slice), onDelete: enqueueMirror });
  return loop;
}
