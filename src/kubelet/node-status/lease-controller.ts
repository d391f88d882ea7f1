/**
 * Renews the node's Lease in kube-node-lease, the heartbeat that the node lifecycle controller observes. Upstream:
 * k8s.io/component-helpers/apimachinery/lease.
 */
import { createBackoff } from '../../base/backoff.ts';
import type { Lease } from '../../api/gen/coordination-v1.ts';
import type { Node } from '../../api/gen/core-v1.ts';
import { Leases } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import { formatMicroTime } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { BasePlatform } from '../../platform/platform.ts';

const NODE_LEASE_NAMESPACE = 'kube-node-lease';

const RENEW_SHARE = 0.25;
const RENEW_JITTER = 0.04;
const MAX_UPDATE_TRIES = 5;

export interface LeaseControllerDeps {
  readonly platform: BasePlatform;
  /** A client of its own keeps heartbeats from queueing behind other requests. */
  readonly client: Client;
  readonly node: () => Node | undefined;
}

/** Renews until the signal aborts: at once, then every quarter of the lease's duration. */
export async function runLeaseController(
  deps: LeaseControllerDeps,
  config: { nodeName: string; leaseDurationSeconds: number },
  signal: AbortSignal,
): Promise<void> {
  const { clock } = deps.platform;
  const random = deps.platform.random.fork('lease');
  const log = deps.platform.log.child('lease');
  const leases = deps.client.resource(Leases);
  const key = { namespace: NODE_LEASE_NAMESPACE, name: config.nodeName };
  const renewIntervalMs = config.leaseDurationSeconds * 1000 * RENEW_SHARE;
  const backoff = createBackoff({ initialMs: 100, maxMs: 7_000 });
  let latest: Lease | undefined;

  function wanted(base: Lease | undefined): Lease {
    const node = deps.node();
    const owners = base?.metadata.ownerReferences ?? [];
    const ownerReferences =
      owners.length > 0 || node?.metadata.uid === undefined
        ? owners
        : [{ apiVersion: 'v1', kind: 'Node', name: config.nodeName, uid: node.metadata.uid }];
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      ...base,
      metadata: { ...(base?.metadata ?? key), ...(ownerReferences.length === 0 ? {} : { ownerReferences }) },
      spec: {
        ...base?.spec,
        holderIdentity: config.nodeName,
        leaseDurationSeconds: config.leaseDurationSeconds,
        renewTime: formatMicroTime(clock.nowMs()),
      },
    };
  }

  async function ensure(): Promise<Lease> {
    try {
      return await leases.get(key, { signal });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
      return leases.create(wanted(undefined), { signal });
    }
  }

  async function renew(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        latest = await leases.update(wanted(latest ?? (await ensure())), { signal });
        return;
      } catch (error) {
        if (signal.aborted) return;
        latest = undefined;
        if (attempt >= MAX_UPDATE_TRIES) throw error;
        if (!isReason(error, 'Conflict', 'NotFound')) await sleepUnlessAborted(clock, backoff.nextMs(), signal);
      }
    }
  }

  while (!signal.aborted) {
    try {
      await renew();
      backoff.reset();
    } catch (error) {
      log.error('Failed to update lease', { err: error });
    }
    await sleepUnlessAborted(clock, renewIntervalMs * (1 + random.next() * RENEW_JITTER), signal);
  }
}
