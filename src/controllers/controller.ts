/**
 * The interface of controllers and the loop that most of them are: informers put keys into a queue, workers sync one
 * key at a time, failed keys are retried. Upstream: the Run, worker, processNextWorkItem and syncHandler of
 * pkg/controller.
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

/** A control loop. The constructor adds its handlers to the shared informers and does nothing else. */
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
  /** Ranges that nodes never get: the service ranges. */
  readonly serviceCidrs?: readonly string[];
  /** The suffix of the names of services. Default `cluster.local`. */
  readonly clusterDomain?: string;
  /** The names in the API server's certificate; kubelets get no certificate with them. */
  readonly apiServerNames?: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
  /** CA bundle published in every namespace as `kube-root-ca.crt`. */
  readonly rootCaPem?: string;
  /** The authority that signs certificate requests of the built-in signers. Absent: requests are not signed. */
  readonly clusterSigning?: KeyPairPem;
  /** Signs an account's token for a token secret. Absent: such secrets get no token. */
  readonly signServiceAccountToken?: (account: ServiceAccount, secret: Secret) => Promise<string>;
  /** As in early releases: every account gets a token secret at once. Default false. */
  readonly automaticTokenSecrets?: boolean;
  readonly nodeMonitorGracePeriodMs?: number;
  readonly nodeMonitorPeriodMs?: number;
  readonly terminatedPodGcThreshold?: number;
  /** Reports the state of nodes' machines. Absent: there is no cloud. */
  readonly cloudNodes?: CloudNodes;
}

/** Settings that a user may change, for a cluster whose ranges and authority are fixed. */
export interface ControllerSettings extends Pick<
  ControllersConfig,
  | 'automaticTokenSecrets'
  | 'nodeCidrMaskSizeIpv4'
  | 'nodeCidrMaskSizeIpv6'
  | 'nodeMonitorGracePeriodMs'
  | 'nodeMonitorPeriodMs'
  | 'terminatedPodGcThreshold'
> {
  /** Upstream's names of the controllers that run; all when absent. */
  readonly names?: readonly string[];
  /** Names of `names` whose controllers do not run. */
  readonly withoutNames?: readonly string[];
}

export interface ControllerDeps {
  /** Has the identity of the controller manager itself, for the few controllers that use it upstream too. */
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
  /** Syncs the object of the key. A rejection means that it is retried with back-off. */
  sync(key: string, signal: AbortSignal): Promise<void>;
  /** After this many failures in a row the key is dropped until the next event. Default: never. */
  readonly maxRetries?: number;
  /** The longest back-off of a failed key. Default: upstream's 1000 s. */
  readonly maxRetryMs?: number;
}

/** A sync that did not fail, and is tried again with back-off. Upstream: certificates.IgnorableError. */
export class RetryLater extends Error {}

export function createKeyedLoop(deps: ControllerDeps, config: KeyedLoopConfig): KeyedLoop {
  const { clock, metrics } = deps.platform;
  const rateLimiter = createControllerRateLimiter<string>(clock, config.maxRetryMs);
  const queue = createWorkQueue<string>({ name: config.queueName ?? config.name, clock, metrics, rateLimiter });
  const log = deps.platform.log.child(config.name);

  async function work(signal: AbortSignal): Promise<void> {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      // In-process calls resolve without a turn of the event loop: a busy queue must not block I/O and timers.
      // Changes also come in bursts (all pods of a set at once): after the yield this sync sees the whole burst.
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
    if (error instanceof RetryLater) log[retries === 0 ? 'info' : 'debug']('again later', { key, why: error.message });
    else if (isProgramError(error)) log.unexpected('sync failed, again later', error, { key, retries });
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

/** Waits for the caches; false when the signal aborts first. */
async function areSynced(informers: readonly Informer<never>[], signal: AbortSignal): Promise<boolean> {
  try {
    await Promise.all(informers.map((informer) => informer.waitForSync(signal)));
    return true;
  } catch {
    return false;
  }
}

/** Types a list of informers of different kinds. */
export function informerList(
  ...informers: readonly { waitForSync(signal?: AbortSignal): Promise<void> }[]
): readonly Informer<never>[] {
  return informers as readonly Informer<never>[];
}

/** A task that runs periodically. */
export interface PeriodicTask {
  readonly name: string;
  readonly periodMs: number;
  /** The informers that the first round waits for. */
  readonly informers?: readonly Informer<never>[];
  round(signal: AbortSignal): Promise<void>;
  /** The pause between two rounds; never rejects. Default: a sleep of a period. */
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

/** Whether a create failed because its namespace is terminating, so that a retry is useless. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    isReason(error, 'Forbidden') &&
    (error.status.details?.causes ?? []).some((cause) => cause.reason === 'NamespaceTerminating')
  );
}
