/**
 * The common shape of controllers and the loop most of them are: informers put keys in a queue, workers sync one key at a
 * time, failures come back later. Upstream: the Run/worker/syncHandler pattern of pkg/controller.
 */
import { onAbort } from '../base/abort.ts';
import type { Secret, ServiceAccount } from '../api/gen/core-v1.ts';
import { isReason } from '../api/status-error.ts';
import type { Client } from '../client/client.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import type { Informer, InformerFactory } from '../client/informer.ts';
import { createControllerRateLimiter } from '../client/rate-limiter.ts';
import { createWorkQueue, type WorkQueue } from '../client/workqueue.ts';
import type { KeyPairPem } from '../component-helpers/pki/certificates.ts';
import { sleepUnlessAborted } from '../platform/clock.ts';
import type { BasePlatform } from '../platform/platform.ts';
import { isProgramError } from '../platform/unexpected.ts';
import type { CloudNodes } from './cloud-node-lifecycle/cloud-nodes.ts';

/** A control loop. Constructing one adds its handlers to the shared informers and does nothing else. */
export interface Controller {
  /** Upstream's name in `--controllers`. */
  readonly name: string;
  /** Waits for the caches, then works until the signal aborts. Resolves when its last work has ended; never rejects. */
  start(signal: AbortSignal): Promise<void>;
}

/** Settings of all controllers; defaults are upstream's. */
export interface ControllersConfig {
  /** Ranges of pod addresses; one range per node is cut from each. Empty: node IPAM does nothing. */
  readonly clusterCidrs?: readonly string[];
  readonly nodeCidrMaskSizeIpv4?: number;
  readonly nodeCidrMaskSizeIpv6?: number;
  /** Ranges never given to nodes: the service ranges. */
  readonly serviceCidrs?: readonly string[];
  /** What the names of services end with. Default `cluster.local`. */
  readonly clusterDomain?: string;
  /** The names in the API server's certificate: no other server may have a certificate with them. */
  readonly apiServerNames?: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
  /** CA bundle published in every namespace as `kube-root-ca.crt`. */
  readonly rootCaPem?: string;
  /** The authority that signs certificate requests of the built-in signers. Absent: requests are not signed. */
  readonly clusterSigning?: KeyPairPem;
  /** Signs the token of an account for a secret that is to hold it. Absent: such secrets stay without one. */
  readonly signServiceAccountToken?: (account: ServiceAccount, secret: Secret) => Promise<string>;
  /** Early releases' habit: every account gets a secret with a token at once. Default false. */
  readonly automaticTokenSecrets?: boolean;
  readonly nodeMonitorGracePeriodMs?: number;
  readonly nodeMonitorPeriodMs?: number;
  readonly terminatedPodGcThreshold?: number;
  /** Knows the machines behind the nodes. Absent: there is no cloud. */
  readonly cloudNodes?: CloudNodes;
}

/** What a user sets of the controllers of a cluster whose ranges and authority are settled. */
export interface ControllerSettings extends Pick<
  ControllersConfig,
  | 'automaticTokenSecrets'
  | 'nodeCidrMaskSizeIpv4'
  | 'nodeCidrMaskSizeIpv6'
  | 'nodeMonitorGracePeriodMs'
  | 'nodeMonitorPeriodMs'
  | 'terminatedPodGcThreshold'
> {
  /** Upstream's names of those to run; all when absent. */
  readonly names?: readonly string[];
}

/** What every controller is made from. */
export interface ControllerDeps {
  /** Acts as the controller manager itself: for the few whose work upstream does under that name. */
  readonly client: Client;
  /** A client that acts as the controller's own service account (`system:serviceaccount:kube-system:<account>`). */
  clientFor(account: string): Client;
  readonly informers: InformerFactory;
  readonly platform: BasePlatform;
  recorderFor(component: string): EventRecorder;
  readonly config: ControllersConfig;
}

/** A keyed loop before its handlers are attached. */
export interface KeyedLoop extends Controller {
  readonly queue: WorkQueue<string>;
}

export interface KeyedLoopConfig {
  readonly name: string;
  /** Upstream's queue name, for metrics. Default: the controller's name. */
  readonly queueName?: string;
  readonly workers: number;
  /** Caches that must be filled before the first sync. */
  readonly informers: readonly Informer<never>[];
  /** Brings the object of this key one step closer. Rejecting means: again, later. */
  sync(key: string, signal: AbortSignal): Promise<void>;
  /** After this many failures in a row a key is dropped until something changes. Default: never. */
  readonly maxRetries?: number;
  /** A failed key comes back after this time at the latest. Default: upstream's 1000 s. */
  readonly maxRetryMs?: number;
}

export function createKeyedLoop(deps: ControllerDeps, config: KeyedLoopConfig): KeyedLoop {
  const { clock, metrics } = deps.platform;
  const rateLimiter = createControllerRateLimiter<string>(clock, config.maxRetryMs);
  const queue = createWorkQueue<string>({ name: config.queueName ?? config.name, clock, metrics, rateLimiter });
  const log = deps.platform.log.child(config.name);

  async function work(signal: AbortSignal): Promise<void> {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      // In-process calls resolve without the loop turning: a busy queue must not keep I/O and timers waiting. And
      // changes come in bursts (all pods of a set at once): what the burst still brings is seen by this sync, not by the next.
      await clock.yield();
      try {
        if (!signal.aborted) await config.sync(key, signal);
        queue.forget(key);
      } catch (error) {
        if (!signal.aborted) onFailure(key, error);
      } finally {
        queue.done(key);
      }
    }
  }
  function onFailure(key: string, error: unknown): void {
    const retries = queue.numRequeues(key);
    if (config.maxRetries !== undefined && retries >= config.maxRetries) {
      log.error('dropping key out of the queue', { key, err: error });
      return queue.forget(key);
    }
    if (isProgramError(error)) log.unexpected('sync failed, again later', error, { key, retries });
    else if (isReason(error, 'Conflict')) log.debug('sync conflicted, again', { key, err: error });
    else log.warn('sync failed, again later', { key, retries, err: error });
    queue.addRateLimited(key);
  }

  return {
    name: config.name,
    queue,
    async start(signal) {
      onAbort(signal, () => queue.shutDown());
      if (!(await areSynced(config.informers, signal))) return;
      await Promise.all(Array.from({ length: config.workers }, () => work(signal)));
    },
  };
}

/** Waits for caches to be filled; false when the signal aborts before. */
async function areSynced(informers: readonly Informer<never>[], signal: AbortSignal): Promise<boolean> {
  try {
    await Promise.all(informers.map((informer) => informer.waitForSync(signal)));
    return true;
  } catch {
    return false;
  }
}

/** Lets informers of any kind stand in one list. */
export function informerList(
  ...informers: readonly { waitForSync(signal?: AbortSignal): Promise<void> }[]
): readonly Informer<never>[] {
  return informers as readonly Informer<never>[];
}

/** Work that is done again and again. */
export interface PeriodicTask {
  readonly name: string;
  readonly periodMs: number;
  /** What the first round waits for. */
  readonly informers?: readonly Informer<never>[];
  round(signal: AbortSignal): Promise<void>;
  /** What there is between two rounds; never rejects. Default: a sleep of a period. */
  rest?(signal: AbortSignal): Promise<void>;
}

/** Runs `round` at once and then after every `periodMs` until the signal aborts; failures are logged. Never rejects. */
export async function runPeriodically(deps: ControllerDeps, task: PeriodicTask, signal: AbortSignal): Promise<void> {
  if (!(await areSynced(task.informers ?? [], signal))) return;
  while (!signal.aborted) {
    try {
      await task.round(signal);
    } catch (error) {
      if (signal.aborted) return;
      const log = deps.platform.log.child(task.name);
      if (isProgramError(error)) log.unexpected('round failed', error);
      else log.warn('round failed', { err: error });
    }
    if (task.rest !== undefined) await task.rest(signal);
    else await sleepUnlessAborted(deps.platform.clock, task.periodMs, signal);
  }
}

/** Whether a create failed because its namespace is going away: nothing to retry. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    isReason(error, 'Forbidden') &&
    (error.status.details?.causes ?? []).some((cause) => cause.reason === 'NamespaceTerminating')
  );
}
