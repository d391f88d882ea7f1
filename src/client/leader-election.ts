/**
 * Leader election over a Lease. Upstream: client-go tools/leaderelection with its defaults (15 s, 10 s, 2 s).
 *
 * Invariants: a foreign lease counts as expired only after it stood unchanged for its duration by our own monotonic clock,
 * so clocks need not agree; a leader that cannot renew within the renew deadline stops its work before the lease can expire.
 */
import { formatMicroTime } from '../api/time.ts';
import { isReason } from '../api/status-error.ts';
import { Leases } from '../api/gen/resources.ts';
import { linkedController, onAbort } from '../base/abort.ts';
import { deepEqual } from '../base/equal.ts';
import type { Lease, LeaseSpec } from '../api/gen/coordination-v1.ts';
import { sleepUnlessAborted, type Clock } from '../platform/clock.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Log } from '../platform/log.ts';
import type { Random } from '../platform/random.ts';
import type { Client, ResourceClient } from './client.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

const JITTER = 1.2;

export interface LeaderElectorDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The lease, the candidate and what to call. */
export interface LeaderElectionConfig {
  readonly namespace: string;
  readonly name: string;
  /** Unique among candidates. */
  readonly identity: string;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  /** Releases the lease on an orderly stop. Default true. */
  readonly releaseOnStop?: boolean;
  /** The leader's work; its signal aborts when leadership is lost or the elector stops. */
  lead(signal: AbortSignal): Promise<void>;
}

/** The lease as last seen, and when by our clock. */
interface Observed {
  readonly lease: Lease;
  readonly atMs: number;
}

/**
 * Competes for the lease and runs `lead` while holding it. Resolves when the signal aborts, when `lead` ends, or after
 * leadership is lost (upstream's components exit then; callers may run it again).
 */
export async function runLeaderElection(
  deps: LeaderElectorDeps,
  config: LeaderElectionConfig,
  signal: AbortSignal,
): Promise<void> {
  const elector = createElector(deps, config);
  const status = deps.metrics.gauge({
    name: 'leader_election_master_status',
    help: 'Whether this process leads, by name of the lease: 1 it does, 0 it is a candidate.',
    labels: ['name'],
  });
  const leads = (value: number): void => status.set(value, { name: config.name });
  leads(0);
  const retryPeriodMs = config.retryPeriodMs ?? 2000;
  while (!(await elector.tryAcquireOrRenew(signal))) {
    await sleepUnlessAborted(deps.clock, retryPeriodMs * (1 + JITTER * deps.random.next()), signal);
    if (signal.aborted) return;
  }
  deps.log.info('successfully acquired lease', { lease: `${config.namespace}/${config.name}` });
  leads(1);
  const term = linkedController(signal);
  const work = config.lead(term.signal).finally(() => term.abort(new Error('the leader stopped')));
  work.catch(() => undefined);
  try {
    await renewUntilLost(deps, config, { elector, signal: term.signal });
  } finally {
    leads(0);
    term.abort(new Error('leader election lost'));
    term.dispose();
  }
  await work;
  if (config.releaseOnStop ?? true) await elector.release();
}

async function renewUntilLost(
  deps: LeaderElectorDeps,
  config: LeaderElectionConfig,
  { elector, signal }: { readonly elector: Elector; readonly signal: AbortSignal },
): Promise<void> {
  const renewDeadlineMs = config.renewDeadlineMs ?? 10_000;
  const retryPeriodMs = config.retryPeriodMs ?? 2000;
  let renewedMs = deps.clock.monotonicMs();
  while (!signal.aborted) {
    await sleepUnlessAborted(deps.clock, retryPeriodMs, signal);
    if (signal.aborted) return;
    const attempt = linkedController(signal);
    // A call that hangs must not outlive the deadline.
    const cancel = deps.clock.setTimer(Math.max(0, renewedMs + renewDeadlineMs - deps.clock.monotonicMs()), () =>
      attempt.abort(new Error('renew deadline exceeded')),
    );
    const renewed = await Promise.race([elector.tryAcquireOrRenew(attempt.signal), abortedAsFalse(attempt.signal)]);
    cancel();
    attempt.dispose();
    if (renewed) renewedMs = deps.clock.monotonicMs();
    else if (deps.clock.monotonicMs() - renewedMs >= renewDeadlineMs) {
      deps.log.error('failed to renew lease', { lease: `${config.namespace}/${config.name}` });
      return;
    }
  }
}

function abortedAsFalse(signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => onAbort(signal, () => resolve(false)));
}

interface Elector {
  tryAcquireOrRenew(signal: AbortSignal): Promise<boolean>;
  release(): Promise<void>;
}

function createElector(deps: LeaderElectorDeps, config: LeaderElectionConfig): Elector {
  const leases: ResourceClient<Lease> = deps.client.resource(Leases);
  const key = { namespace: config.namespace, name: config.name };
  let observed: Observed | undefined;

  function observe(lease: Lease): void {
    const before = observed?.lease.spec;
    if (observed !== undefined && deepEqual(before, lease.spec)) observed = { ...observed, lease };
    else observed = { lease, atMs: deps.clock.monotonicMs() };
  }

  async function attempt(signal: AbortSignal): Promise<boolean> {
    const lease = await getOrUndefined(leases, key, signal);
    const nowMs = deps.clock.nowMs();
    if (lease === undefined) {
      const spec = claim(config, nowMs, undefined);
      observe(
        await leases.create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: key, spec }, { signal }),
      );
      return true;
    }
    observe(lease);
    const holder = lease.spec?.holderIdentity ?? '';
    const ageMs = deps.clock.monotonicMs() - (observed?.atMs ?? 0);
    const durationMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
    if (holder !== '' && holder !== config.identity && ageMs < durationMs) return false;
    observe(await leases.update({ ...lease, spec: claim(config, nowMs, lease.spec) }, { signal }));
    return true;
  }

  /** Reads the lease first: an interrupted renewal may have been stored. */
  async function giveBack(signal: AbortSignal): Promise<void> {
    const lease = await getOrUndefined(leases, key, signal);
    if (lease?.spec?.holderIdentity !== config.identity) return;
    await leases.update({ ...lease, spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 } }, { signal });
  }

  return {
    async tryAcquireOrRenew(signal) {
      try {
        return await attempt(signal);
      } catch (error) {
        if (!signal.aborted)
          deps.log.warn('error acquiring or renewing lease', { lease: `${key.namespace}/${key.name}`, err: error });
        return false;
      }
    },
    async release() {
      const limit = new AbortController();
      const cancel = deps.clock.setTimer(config.renewDeadlineMs ?? 10_000, () => limit.abort(new Error('no answer')));
      try {
        await retryOnConflict(deps.clock, () => giveBack(limit.signal), limit.signal);
      } catch (error) {
        deps.log.warn('failed to release lease', { lease: `${key.namespace}/${key.name}`, err: error });
      } finally {
        cancel();
      }
    },
  };
}

async function getOrUndefined(
  leases: ResourceClient<Lease>,
  key: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<Lease | undefined> {
  try {
    return await leases.get(key, { signal });
  } catch (error) {
    if (isReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

function claim(config: LeaderElectionConfig, nowMs: number, old: LeaseSpec | undefined): LeaseSpec {
  const now = formatMicroTime(nowMs);
  const ours = old?.holderIdentity === config.identity;
  return {
    ...old,
    holderIdentity: config.identity,
    leaseDurationSeconds: Math.round((config.leaseDurationMs ?? 15_000) / 1000),
    acquireTime: ours ? (old?.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: ours ? (old?.leaseTransitions ?? 0) : old === undefined ? 0 : (old.leaseTransitions ?? 0) + 1,
  };
}
