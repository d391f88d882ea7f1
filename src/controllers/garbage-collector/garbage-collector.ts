/**
 * Deletes objects whose owners are gone, and carries out foreground and orphaning deletions. Upstream:
 * pkg/controller/garbagecollector (attemptToDeleteItem, blockOwnerDeletion).
 *
 * Watches: every deletable resource. Invariants: nothing is deleted on the basis of the cache alone: the object and
 * each of its owners are read from the server first, and deletions name the uid.
 */
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { createWorkQueue, type WorkQueue } from '../../client/workqueue.ts';
import { Lru } from '../../base/lru.ts';
import { APIServices, CustomResourceDefinitions } from '../../api/gen/resources.ts';
import { aborted, onAbort } from '../../base/abort.ts';
import { sleepUnlessAborted, type Clock } from '../../platform/clock.ts';
import { runPeriodically, type Controller, type ControllerDeps } from '../controller.ts';
import {
  blockingDependents,
  FOREGROUND_FINALIZER,
  ORPHAN_FINALIZER,
  OwnerGraph,
  type GraphNode,
  type Identity,
} from './graph.ts';
import { createLiveObjects, NamespacedOwnerError, type LiveObjects } from './live-objects.ts';
import { createResourceMonitors, metadataInformer, type ResourceMonitors } from './resource-monitors.ts';
import { UnseenOwners, waitsForDependents } from './unseen-owners.ts';
import { background, isProgramError } from '../../platform/unexpected.ts';
import type { Log } from '../../platform/log.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';

const ACCOUNT = 'generic-garbage-collector';
const NAME = 'garbage-collector-controller';
const WORKERS = 20;
/** Delays the resync, as a definition changes a few times in a row. */
const DEFINITION_DELAY_MS = 500;
/**
 * Upstream resyncs every 30 s. Here definitions and API services trigger a resync, and this period covers missed
 * ones.
 */
const RESYNC_MS = 300_000;
/** The longest back-off while an owner's kind is unknown. */
const MOST_WAIT_MS = 30_000;
const ABSENT_OWNER_CACHE_SIZE = 500;
/** The most objects read in one turn of the event loop. */
const OWNERS_AT_ONCE = 20;

export function createGarbageCollector(deps: ControllerDeps): Controller {
  return new GarbageCollector(deps);
}

/** Upstream: garbagecollector.GarbageCollector. */
class GarbageCollector implements Controller {
  readonly name = NAME;
  readonly #deps: ControllerDeps;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #deletions: WorkQueue<string>;
  readonly #orphanings: WorkQueue<string>;
  readonly #graph: OwnerGraph;
  readonly #unseenOwners: UnseenOwners;
  readonly #monitors: ResourceMonitors;
  readonly #absentOwnerCache: Lru<string, true>;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#clock = deps.platform.clock;
    const metrics = deps.platform.metrics;
    this.#log = deps.platform.log.child(NAME);
    this.#client = deps.clientFor(ACCOUNT);
    this.#recorder = deps.recorderFor(NAME);
    this.#deletions = createWorkQueue<string>({
      name: 'garbage_collector_attempt_to_delete',
      clock: this.#clock,
      metrics,
    });
    this.#orphanings = createWorkQueue<string>({
      name: 'garbage_collector_attempt_to_orphan',
      clock: this.#clock,
      metrics,
    });
    this.#graph = new OwnerGraph({
      attemptToDelete: (node) => this.#deletions.add(node.identity.uid),
      attemptToOrphan: (node) => this.#orphanings.add(node.identity.uid),
      invalidReference: (node, { apiVersion, kind, name, uid }) => {
        const reference = `[${apiVersion}/${kind}, namespace: ${node.identity.namespace ?? ''}, name: ${name}, uid: ${uid}]`;
        this.#recorder.event(
          targetOf(node.identity),
          'Warning',
          'OwnerRefInvalidNamespace',
          `ownerRef ${reference} does not exist in namespace "${node.identity.namespace ?? ''}"`,
        );
      },
    });
    this.#unseenOwners = new UnseenOwners(this.#graph);
    this.#monitors = createResourceMonitors(deps, this.#client, this.#graph);
    this.#absentOwnerCache = new Lru<string, true>(ABSENT_OWNER_CACHE_SIZE);
  }

  async #work(queue: WorkQueue<string>, process: (uid: string) => Promise<void>, signal: AbortSignal): Promise<void> {
    for (let uid = await queue.get(); uid !== undefined; uid = await queue.get()) {
      try {
        if (!signal.aborted) await process(uid);
        queue.forget(uid);
      } catch (error) {
        // A retry would not help.
        if (!signal.aborted && !(error instanceof NamespacedOwnerError)) {
          const object = this.#graph.get(uid)?.identity;
          if (isProgramError(error))
            this.#log.unexpected('collection of an object failed, again later', error, { object });
          else this.#log.debug('collection of an object failed, again later', { object, err: error });
          queue.addRateLimited(uid);
        }
      } finally {
        queue.done(uid);
      }
      await this.#clock.yield();
    }
  }

  async #attemptToDeleteWorker(live: LiveObjects, uid: string): Promise<void> {
    const node = this.#graph.get(uid);
    if (node === undefined) {
      for (const dependent of await this.#unseenOwners.check(live, uid)) this.#deletions.add(dependent);
      return;
    }
    this.#unseenOwners.remove(uid);
    if (node.beingDeleted && !node.deletingDependents) return;
    if (!node.deletingDependents && !this.#graph.needsVerification(node)) return;
    const latest = await live.read(node.identity);
    if (latest === undefined) return; // its deletion will be observed
    if (node.deletingDependents) return await this.#deleteDependents(live, node);
    const owners = latest.metadata.ownerReferences ?? [];
    if (owners.length > 0) await this.#attemptToDeleteItem(live, node, latest);
  }

  async #deleteDependents(live: LiveObjects, node: GraphNode): Promise<void> {
    const blocking = blockingDependents(this.#graph, node.identity.uid);
    if (blocking.length === 0) return await live.removeFinalizer(node.identity, FOREGROUND_FINALIZER);
    for (const dependent of blocking) if (!dependent.deletingDependents) this.#deletions.add(dependent.identity.uid);
  }

  async #attemptToDeleteItem(live: LiveObjects, node: GraphNode, latest: KubernetesObject): Promise<void> {
    const { solid, dangling, waiting } = await this.#classifyReferences(
      live,
      node.identity,
      latest.metadata.ownerReferences ?? [],
    );
    if (solid.length > 0) {
      const lost = new Set([...dangling, ...waiting].map((reference) => reference.uid));
      if (lost.size > 0)
        await live.changeOwners(node.identity, (owners) => owners.filter((owner) => !lost.has(owner.uid)));
      this.#followUnseen(node.identity, solid);
      return;
    }
    const dependents = waiting.length > 0 ? [...this.#graph.dependentsOf(node.identity.uid)] : [];
    if (dependents.length > 0) {
      // In a cycle of foreground deletions each would wait for the others, so blocking is removed first.
      if (dependents.some((dependent) => dependent.deletingDependents)) {
        await live.changeOwners(node.identity, (owners) =>
          owners.map((owner) => (owner.blockOwnerDeletion === true ? { ...owner, blockOwnerDeletion: false } : owner)),
        );
      }
      return await live.remove(node.identity, 'Foreground');
    }
    const finalizers = latest.metadata.finalizers ?? [];
    const policy = finalizers.includes(ORPHAN_FINALIZER)
      ? 'Orphan'
      : finalizers.includes(FOREGROUND_FINALIZER)
        ? 'Foreground'
        : 'Background';
    this.#log.debug('deleting an object without owners', { object: node.identity, policy });
    await live.remove(node.identity, policy);
  }

  /** Starts to check owners that no watch has shown. */
  #followUnseen({ namespace }: Identity, owners: readonly OwnerReference[]): void {
    for (const { apiVersion, kind, name, uid } of owners)
      if (this.#graph.get(uid) === undefined && this.#unseenOwners.add({ apiVersion, kind, namespace, name, uid }))
        this.#deletions.addRateLimited(uid);
  }

  /** Sorts owners into existing ones, absent ones, and those in foreground deletion. */
  async #classifyReferences(live: LiveObjects, dependent: Identity, references: readonly OwnerReference[]) {
    const solid: OwnerReference[] = [];
    const dangling: OwnerReference[] = [];
    const waiting: OwnerReference[] = [];
    for (const { apiVersion, kind } of references) live.checkKind({ ...dependent, apiVersion, kind });
    for (const [at, reference] of references.entries()) {
      if (at % OWNERS_AT_ONCE === OWNERS_AT_ONCE - 1) await this.#clock.yield();
      const owner = await this.#readOwner(live, dependent, reference);
      if (owner === undefined) dangling.push(reference);
      else if (waitsForDependents(owner)) waiting.push(reference);
      else solid.push(reference);
    }
    return { solid, dangling, waiting };
  }

  async #readOwner(
    live: LiveObjects,
    dependent: Identity,
    reference: OwnerReference,
  ): Promise<KubernetesObject | undefined> {
    const { apiVersion, kind, name, uid } = reference;
    // The key has everything that was looked up: the same uid under another name or kind is another lookup.
    const key = [apiVersion, kind, name, uid, dependent.namespace ?? ''].join(' ');
    if (this.#absentOwnerCache.get(key) === true) return undefined;
    const owner = await live.read({ apiVersion, kind, name, uid, namespace: dependent.namespace });
    if (owner === undefined) this.#absentOwnerCache.set(key, true);
    return owner;
  }

  async #attemptToOrphanWorker(live: LiveObjects, uid: string): Promise<void> {
    const owner = this.#graph.get(uid);
    if (owner === undefined) return;
    const dependents = [...this.#graph.dependentsOf(uid)];
    for (let from = 0; from < dependents.length; from += OWNERS_AT_ONCE) {
      await Promise.all(
        dependents
          .slice(from, from + OWNERS_AT_ONCE)
          .map(({ identity }) =>
            live.changeOwners(identity, (owners) =>
              owners.some((r) => r.uid === uid) ? owners.filter((r) => r.uid !== uid) : owners,
            ),
          ),
      );
      await this.#clock.yield();
    }
    await live.removeFinalizer(owner.identity, ORPHAN_FINALIZER);
  }

  async #firstSync(signal: AbortSignal): Promise<void> {
    for (let delayMs = 250; !signal.aborted; delayMs = Math.min(delayMs * 2, MOST_WAIT_MS)) {
      try {
        return await this.#monitors.sync(signal);
      } catch (error) {
        if (!signal.aborted) this.#log.warn('cannot find out what to watch, again later', { err: error });
      }
      await sleepUnlessAborted(this.#clock, delayMs, signal);
    }
  }

  /** Resyncs when a CustomResourceDefinition or APIService changes. Upstream finds new kinds at the next resync. */
  async #resyncOnDefinitions(signal: AbortSignal): Promise<void> {
    let cancel = (): void => undefined;
    const changed = (): void => {
      cancel();
      cancel = this.#clock.setTimer(DEFINITION_DELAY_MS, () =>
        background(
          this.#log,
          'what to watch could not be found out',
          this.#monitors.sync(signal).catch((error: unknown) => {
            if (!signal.aborted) this.#log.warn('cannot find out what to watch, again later', { err: error });
          }),
        ),
      );
    };
    const handler = { onAdd: changed, onUpdate: changed, onDelete: changed };
    const detachments = [CustomResourceDefinitions, APIServices].map((info) =>
      metadataInformer(this.#deps.informers, info).addHandler(handler),
    );
    this.#deps.informers.start(signal);
    await aborted(signal);
    for (const detach of detachments) detach();
    cancel();
  }

  async #resync(signal: AbortSignal): Promise<void> {
    await sleepUnlessAborted(this.#clock, RESYNC_MS, signal);
    await runPeriodically(
      this.#deps,
      { name: NAME, periodMs: RESYNC_MS, round: (s) => this.#monitors.sync(s) },
      signal,
    );
  }

  async start(signal: AbortSignal): Promise<void> {
    onAbort(signal, () => {
      this.#deletions.shutDown();
      this.#orphanings.shutDown();
    });
    await this.#firstSync(signal);
    const live = createLiveObjects({ client: this.#client, monitors: this.#monitors, clock: this.#clock }, signal);
    const workers = (queue: WorkQueue<string>, process: (uid: string) => Promise<void>) =>
      Array.from({ length: WORKERS }, () => this.#work(queue, process, signal));
    await Promise.all([
      ...workers(this.#deletions, (uid) => this.#attemptToDeleteWorker(live, uid)),
      ...workers(this.#orphanings, (uid) => this.#attemptToOrphanWorker(live, uid)),
      this.#resync(signal),
      this.#resyncOnDefinitions(signal),
    ]);
  }
}

function targetOf({ apiVersion, kind, namespace, name, uid }: Identity) {
  return { apiVersion, kind, name, uid, namespace };
}
