/**
 * Publishes the cluster's CA in every namespace as ConfigMap `kube-root-ca.crt`. Upstream:
 * controller/certificates/rootcacertpublisher. Without a CA bundle in the configuration it does nothing, as upstream's.
 *
 * Watches: namespaces, the ConfigMaps of that name. Writes alone: those ConfigMaps.
 */
import { ConfigMaps, Namespaces } from '../../api/gen/resources.ts';
import { isReason, StatusError } from '../../api/status-error.ts';
import type { ConfigMap } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Metrics } from '../../platform/metrics.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
  type ControllerDeps,
} from '../controller.ts';

const ACCOUNT = 'root-ca-cert-publisher';
const NAME = 'kube-root-ca.crt';
const DESCRIPTION_ANNOTATION = 'kubernetes.io/description';
const DESCRIPTION =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. ' +
  'No other usage is guaranteed across distributions of Kubernetes clusters.';

export function createRootCaPublisher(deps: ControllerDeps): Controller {
  const caPem = deps.config.rootCaPem;
  if (caPem === undefined) return { name: 'root-ca-certificate-publisher-controller', start: () => Promise.resolve() };
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT).resource(ConfigMaps);
  const metrics = createPublisherMetrics(deps.platform.metrics);
  const namespaces = deps.informers.informer(Namespaces);
  const maps = deps.informers.informer(ConfigMaps, { fieldSelector: `metadata.name=${NAME}` });
  const loop = createKeyedLoop(deps, {
    name: 'root-ca-certificate-publisher-controller',
    queueName: 'root_ca_cert_publisher',
    workers: 1,
    informers: informerList(namespaces, maps),
    sync: (namespace, signal) => measured(() => syncNamespace(namespace, signal)),
  });

  async function measured(work: () => Promise<void>): Promise<void> {
    const startedMs = clock.monotonicMs();
    const synced = (code: string): void => metrics.synced(code, (clock.monotonicMs() - startedMs) / 1000);
    try {
      await work();
      synced('200');
    } catch (error) {
      synced(error instanceof StatusError ? String(error.status.code ?? 500) : '500');
      throw error;
    }
  }

  async function syncNamespace(namespace: string, signal: AbortSignal): Promise<void> {
    const namespaceObject = namespaces.get({ name: namespace });
    if (namespaceObject === undefined || namespaceObject.metadata.deletionTimestamp !== undefined) return;
    const current = maps.get({ namespace, name: NAME });
    if (current !== undefined && isRight(current)) return;
    const annotations = { ...current?.metadata.annotations, [DESCRIPTION_ANNOTATION]: DESCRIPTION };
    const next: ConfigMap = {
      ...current,
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...current?.metadata, namespace, name: NAME, annotations },
      data: { 'ca.crt': caPem as string },
    };
    try {
      if (current === undefined) await client.create(next, { signal });
      else await client.update(next, { signal });
    } catch (error) {
      if (!isReason(error, 'AlreadyExists') && !isNamespaceTerminating(error)) throw error;
    }
  }
  function isRight(map: ConfigMap): boolean {
    const data = map.data ?? {};
    return (
      data['ca.crt'] === caPem &&
      Object.keys(data).length === 1 &&
      (map.metadata.annotations?.[DESCRIPTION_ANNOTATION] ?? '') !== ''
    );
  }

  const onMap = (map: Stored<ConfigMap>): void => {
    if (map.metadata.name === NAME) loop.queue.add(map.metadata.namespace);
  };
  namespaces.addHandler({
    onAdd: (namespace) => loop.queue.add(namespace.metadata.name),
    onUpdate: (_, namespace) => loop.queue.add(namespace.metadata.name),
  });
  maps.addHandler({ onUpdate: (_, map) => onMap(map), onDelete: onMap });
  return loop;
}

function createPublisherMetrics(metrics: Metrics): { synced(code: string, seconds: number): void } {
  const labels = ['code'];
  const total = metrics.counter({
    name: 'root_ca_cert_publisher_sync_total',
    help: 'Namespace syncs by the status code of the answer.',
    labels,
  });
  const duration = metrics.histogram({
    name: 'root_ca_cert_publisher_sync_duration_seconds',
    help: 'Time that namespace syncs took, by the status code of the answer.',
    labels,
    buckets: Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i),
  });
  return {
    synced(code, seconds) {
      total.inc({ code });
      duration.observe(seconds, { code });
    },
  };
}
