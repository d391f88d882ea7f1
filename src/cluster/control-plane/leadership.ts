/**
 * Controllers and scheduler of several servers over one store: only one server's work at a time, agreed on by a Lease under
 * the names upstream's processes use, so that one of those would count as a candidate too. A server alone needs no lease.
 */
import { aborted } from '../../base/abort.ts';
import type { Principal } from '../../api/transport.ts';
import type { Client } from '../../client/client.ts';
import { runLeaderElection } from '../../client/leader-election.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { ControlPlane } from './control-plane.ts';

/** What an election is held with. */
export interface LeadershipDeps {
  readonly platform: BasePlatform;
  readonly clientFor: (principal: Principal, userAgent: string) => Client;
  /** Whether other servers may work on the same store. */
  readonly shared: boolean;
  /** Unique among servers. */
  readonly identity: string;
}

/** A component that only one server runs. */
export interface LedComponent {
  /** The lease in kube-system; its holder's user is `system:<name>` by default. */
  readonly name: 'kube-controller-manager' | 'kube-scheduler' | 'helm-controller';
  /** Its holder, where that is another user. */
  readonly user?: Principal;
  /** Works until the signal aborts. */
  lead(signal: AbortSignal): Promise<void>;
}

/**
 * Runs the component whenever this server holds its lease, until the signal aborts. Losing the lease ends the work and
 * makes this server a candidate again; upstream's processes exit and are started anew. Rejects when the work fails.
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
