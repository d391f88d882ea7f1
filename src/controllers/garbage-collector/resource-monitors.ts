/**
 * Watches every deletable resource the server serves, built-in and custom, and feeds the graph. Upstream:
 * controller/garbagecollector syncMonitors.
 */
import { groupResourceOf, type ResourceInfo } from '../../api/resource-info.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { allResources } from '../../api/gen/resources.ts';
import { linkedController } from '../../base/abort.ts';
import { discoverResources, type Discovered } from '../../client/discovery.ts';
import type { Client } from '../../client/client.ts';
import type { Informer, InformerFactory, InformerOptions } from '../../client/informer.ts';
import { createSharedInformer } from '../../client/shared-informer.ts';
import type { ControllerDeps } from '../controller.ts';
import type { OwnerGraph } from './graph.ts';
import { background } from '../../platform/unexpected.ts';

/** Never collected: they are many and short-lived. */
const IGNORED = new Set(['events', 'events.events.k8s.io']);

const SYNC_TIMEOUT_MS = 30_000;
/** The most monitors that start or stop in one turn, since each lists and watches. */
const AT_ONCE = 8;

/** The fields of an object that the graph and an informer need. */
const METADATA: InformerOptions<KubernetesObject> = {
  metadataOnly: true,
  projection: {
    name: 'ownership',
    apply: ({ apiVersion, kind, metadata }) => {
      const { name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp } = metadata;
      return {
        ...(apiVersion !== undefined && { apiVersion }),
        ...(kind !== undefined && { kind }),
        metadata: {
          name,
          ...(namespace !== undefined && { namespace }),
          uid,
          resourceVersion,
          ...(ownerReferences !== undefined && { ownerReferences }),
          ...(finalizers !== undefined && { finalizers }),
          ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        },
      };
    },
  },
};

/**
 * The informer of a built-in resource with at least the metadata. Objects that other components watch whole are
 * shared.
 */
export function metadataInformer(
  informers: InformerFactory,
  info: ResourceInfo<KubernetesObject>,
): Informer<KubernetesObject> {
  return informers.existing(info) ?? informers.informer(info, METADATA);
}

interface Monitor {
  readonly info: ResourceInfo<KubernetesObject>;
  readonly informer: Informer<KubernetesObject>;
  /** Stops the informer of a custom resource; shared informers of built-in resources continue. */
  stop(): void;
}

export interface ResourceMonitors {
  /** Runs discovery and starts or stops monitors. Resolves when new ones have synced. */
  sync(signal: AbortSignal): Promise<void>;
  /** The resource of a kind, in this version or another of the group; undefined when the kind is not served. */
  resolve(apiVersion: string, kind: string): ResourceInfo<KubernetesObject> | undefined;
}

/** Nothing is watched before `sync`. */
export function createResourceMonitors(deps: ControllerDeps, client: Client, graph: OwnerGraph): ResourceMonitors {
  const monitors = new Map<string, Monitor>();
  const log = deps.platform.log.child('garbage-collector-controller');
  let byKind = new Map<string, ResourceInfo<KubernetesObject>>();
  let last: Discovered | undefined;
  const syncErrors = deps.platform.metrics.counter({
    name: 'garbagecollector_controller_resources_sync_error_total',
    help: 'Syncs of the resources to watch that failed.',
  });

  function start(info: ResourceInfo<KubernetesObject>, signal: AbortSignal): Monitor {
    const term = linkedController(signal);
    let informer: Informer<KubernetesObject>;
    if ((allResources as readonly ResourceInfo[]).includes(info)) {
      informer = metadataInformer(deps.informers, info);
      deps.informers.start(signal);
    } else {
      const { clock, random } = deps.platform;
      const made = createSharedInformer({
        client: client.resource(info),
        options: METADATA,
        clock,
        random: random.fork(`gc/${groupResourceOf(info)}`),
        log,
      });
      background(log, 'an informer broke off', made.run(term.signal));
      informer = made;
    }
    const detach = informer.addHandler({
      onAdd: (object) => graph.observe(object),
      onUpdate: (_, object) => graph.observe(object),
      onDelete: (object) => graph.remove(object.metadata.uid),
    });
    return {
      info,
      informer,
      stop() {
        detach();
        term.abort(new Error('the resource is no longer served'));
        term.dispose();
      },
    };
  }

  async function stopAll(ended: readonly (readonly [key: string, monitor: Monitor])[]): Promise<void> {
    if (ended.length === 0) return;
    log.info('resources are no longer served', { resources: ended.length, first: ended[0]?.[0] });
    for (const [at, [key, monitor]] of ended.entries()) {
      if (at > 0 && at % AT_ONCE === 0) await deps.platform.clock.yield();
      monitor.stop();
      for (const object of monitor.informer.list()) graph.remove(object.metadata.uid);
      monitors.delete(key);
    }
  }

  return {
    async sync(signal) {
      const discovered = await discoverResources(client, signal);
      if (discovered === last) return; // An unchanged answer is the same object.
      const { resources, stale } = discovered;
      const staleGroups = new Set(stale.map((gv) => (gv.includes('/') ? gv.slice(0, gv.indexOf('/')) : '')));
      const watchable = resources.filter(
        (info) =>
          ['delete', 'list', 'watch'].every((verb) => info.verbs.includes(verb)) && !IGNORED.has(groupResourceOf(info)),
      );
      byKind = new Map(resources.map((info) => [`${info.group}/${info.kind}`, info]));
      const served = new Map(watchable.map((info) => [`${groupResourceOf(info)}/${info.version}`, info]));
      // Resources of a server that does not answer are kept: they are only unknown for now.
      await stopAll([...monitors].filter(([key, { info }]) => !served.has(key) && !staleGroups.has(info.group)));
      const added = [...served].filter(([key]) => !monitors.has(key));
      for (const [at, [key, info]] of added.entries()) {
        if (at > 0 && at % AT_ONCE === 0) await deps.platform.clock.yield();
        if (signal.aborted) return;
        monitors.set(key, start(info, signal));
      }
      // One resource that cannot be listed must not stop the collection of others: owners are verified on the server
      // anyway.
      const wait = linkedController(signal);
      const cancel = deps.platform.clock.setTimer(SYNC_TIMEOUT_MS, () =>
        wait.abort(new Error('some resources could not be listed in time')),
      );
      const lists = added.map(([key]) => monitors.get(key)?.informer.waitForSync(wait.signal));
      const failed = (await Promise.allSettled(lists)).some(({ status }) => status === 'rejected');
      if ((failed && !signal.aborted) || stale.length > 0) syncErrors.inc();
      cancel();
      wait.dispose();
      if (!signal.aborted) last = discovered;
    },
    resolve(apiVersion, kind) {
      const slash = apiVersion.indexOf('/');
      return byKind.get(`${slash < 0 ? '' : apiVersion.slice(0, slash)}/${kind}`);
    },
  };
}
