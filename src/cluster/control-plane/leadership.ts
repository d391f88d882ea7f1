/**
 * Runs controllers and scheduler on only one of several servers over one store, by Leases with the names that
 * upstream's processes use, so that one of those would be a candidate too. A single server needs no lease.
 */
import { aborted } from '../../base/abort.ts';
import type { Principal } from '../../api/transport.ts';
import type { Client } from '../../client/client.ts';
import { runLeaderElection } from '../../client/leader-election.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { ControlPlane } from './control-plane.ts';

export interface LeadershipDeps {
  readonly platform: BasePlatform;
  readonly clientFor: (principal: Principal, userAgent: string) => Client;
  /** Whether other servers may use the same store. */
  readonly shared: boolean;
  /** Unique among servers. */
  readonly identity: string;
}

/** A component that runs on only one server. */
export interface LedComponent {
  /** The lease in kube-system; its holder is the user `system:<name>` by default. */
  readonly name: 'kube-controller-manager' | 'kube-scheduler' | 'helm-controller';
  /** The holder, if it is another user. */
  readonly user?: Principal;
  /** Runs until the signal aborts. */
  lead(signal: AbortSignal): Promise<void>;
}

/**
 * Runs the component while this server holds its lease, until the signal aborts. Losing the lease ends the component
 * and makes this server a candidate again; upstream's processes exit and are restarted. Rejects when the component
 * fails.
 */
export async function runLed(deps: LeadershipDeps, component: LedComponent, signal: AbortSignal): Promise<void> {
  if (!deps.shared) return await component.lead(signal);
  const { name } = component;
  const { clock, random, log, metrics } = deps.platform;
  const { user = { name: `system:${name}`, groups: ['system:authenticated'] } } = component;
  const client = deps.clientFor(user, `${name}/leader-election`);
  const electors = { client, clock, random: random.fork(`leader-election-${name}`), log: log.child(name), metrics };
  let failure: { readonly error: unknown } | undefined;
  const lead = async (until: AbortSignal): Promise<void> => {
    try {
      await component.lead(until);
    } catch (error) {
      if (!until.aborted) failure = { error };
    }
  };
  while (!signal.aborted) {
    await runLeaderElection(electors, { namespace: 'kube-system', name, identity: deps.identity, lead }, signal);
    if (failure !== undefined) throw failure.error;
  }
}

/** Controllers and scheduler of a control plane. */
export function ledComponents({
  runControllers,
  startScheduler,
}: Pick<ControlPlane, 'runControllers' | 'startScheduler'>): readonly LedComponent[] {
  return [
    { name: 'kube-controller-manager', lead: runControllers },
    {
      name: 'kube-scheduler',
      async lead(signal) {
        await startScheduler(signal);
        await aborted(signal);
      },
    },
  ];
}
