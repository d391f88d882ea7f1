/**
 * The userspace mode, as in the first kube-proxy: every service port is a port of this process, to which rules
 * redirect. Connections end with this process. It is slower than kernel rules; for kernels whose load balancing is
 * unreliable, and for learning. The rules are one small nftables table, written as a whole.
 *
 * Upstream: pkg/proxy/userspace (until 1.25). Unlike it, traffic policies and source ranges are applied; as there,
 * pods see the node as the client whatever the policy. SCTP is rejected by a rule and logged.
 */
import type { Platform } from '../../platform/platform.ts';
import { runOrThrow } from '../../platform/run-or-throw.ts';
import { removalScript, type TableConfig } from '../nft-script.ts';
import { createApplyLoop, type WriteScope } from '../apply-loop.ts';
import type { ApplierDeps, RuleApplier } from '../rule-applier.ts';
import { createProxyMetrics } from '../proxy-metrics.ts';
import { flowsOfPort, type FlowFilter } from '../conntrack.ts';
import { planPortals, type PortalPlan, type UserspaceWanted } from './portal-plan.ts';
import { openPortal, type Portal } from './portal.ts';
import { redirectRules } from './redirect-rules.ts';

export interface UserspaceApplierConfig {
  readonly tables: readonly {
    readonly config: TableConfig;
    wanted(): UserspaceWanted;
  }[];
  readonly commandPrefix?: readonly string[];
  prepare(): Promise<void>;
  /** Called with flows to removed portals; they may be deleted after `onApplied`. */
  onStaleFlows(filters: readonly FlowFilter[]): void;
  onApplied(): void;
}

const MIN_GAP_MS = 20;

type Deps = ApplierDeps & Pick<Platform, 'net' | 'datagrams'>;

/** Nothing is written before `run`. */
export function createUserspaceApplier(deps: Deps, config: UserspaceApplierConfig): RuleApplier {
  const { clock, log } = deps;
  const metrics = createProxyMetrics(deps.metrics);
  const portals = new Portals(deps);
  let last = '';
  let refused: ReadonlySet<string> = new Set();

  const nft = async (input: string): Promise<void> => {
    await runOrThrow(deps.exec, [...(config.commandPrefix ?? []), 'nft', '-f', '-'], { input, name: 'nft' });
  };
  async function apply({ whole }: WriteScope): Promise<void> {
    await config.prepare();
    const startMs = clock.monotonicMs();
    const scripts: string[] = [];
    const [used, unsupported] = [new Set<string>(), new Set<string>()];
    for (const table of config.tables) {
      const plan = planPortals(table.wanted());
      const { portOf, fresh } = await portals.open(plan, { family: table.config.family, used });
      scripts.push(redirectRules(table.config, plan, portOf));
      config.onStaleFlows(flowsOf(plan, fresh, table.config.family));
      for (const name of plan.unsupported) unsupported.add(name);
    }
    const script = scripts.join('');
    if (script !== last || whole) await nft(script);
    last = script;
    await portals.closeOthers(used);
    for (const name of unsupported)
      if (!refused.has(name))
        log.error('SCTP is not supported by the userspace mode: connections are refused', { service: name });
    refused = unsupported;
    metrics.synced((clock.monotonicMs() - startMs) / 1000, clock.nowMs() / 1000);
  }

  const loop = createApplyLoop(deps, { metrics, minGapMs: MIN_GAP_MS, apply, onApplied: config.onApplied });
  return {
    ...loop,
    async run(signal) {
      await loop.run(signal);
      await portals.closeOthers(new Set());
    },
    remove: () => nft(config.tables.map((table) => removalScript(table.config)).join('')),
  };
}

/**
 * The kernel keeps sending datagrams of active clients to a service's former port, which another process may use now.
 */
function flowsOf(plan: PortalPlan, fresh: ReadonlySet<string>, family: 4 | 6): FlowFilter[] {
  const isUdp = (portal: string): boolean => fresh.has(portal) && plan.portals.get(portal)?.protocol === 'udp';
  const keys = (...maps: readonly ReadonlyMap<string, string>[]): string[] =>
    maps.flatMap((map) => [...map].filter(([, portal]) => isUdp(portal)).map(([key]) => key));
  const { addresses, nodePorts, hostPorts, hostAddresses } = plan;
  return [
    ...keys(addresses.portals, addresses.outside, hostAddresses).map((key) => {
      const [ip = '', , port = ''] = key.split(' . ');
      return ['--orig-dst', ip, '--orig-port-dst', port];
    }),
    ...keys(nodePorts.portals, nodePorts.outside, hostPorts).map((key) =>
      flowsOfPort(key.slice(key.lastIndexOf(' ') + 1), family),
    ),
  ];
}

/** The open ports by family and name. */
class Portals {
  readonly #deps: Deps;
  readonly #open = new Map<string, Portal>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Opens missing portals, updates the endpoints of all, and adds them to `used`; returns their ports, and which are
   * new.
   */
  async open(
    { portals }: PortalPlan,
    { family, used }: { readonly family: 4 | 6; readonly used: Set<string> },
  ): Promise<{ readonly portOf: (portal: string) => number; readonly fresh: ReadonlySet<string> }> {
    const ports = new Map<string, number>();
    const fresh = new Set<string>();
    for (const [name, { protocol, targets, serving, affinitySeconds }] of portals) {
      const key = `${family} ${name}`;
      let portal = this.#open.get(key);
      if (portal === undefined) {
        this.#open.set(key, (portal = await openPortal(this.#deps, protocol, family)));
        fresh.add(name);
      }
      portal.balancer.setTargets(targets, affinitySeconds);
      portal.keep(serving);
      used.add(key);
      ports.set(name, portal.port);
    }
    return { portOf: (name) => ports.get(name) ?? 0, fresh };
  }

  /** Closes those of removed services. */
  async closeOthers(used: ReadonlySet<string>): Promise<void> {
    const gone = [...this.#open].filter(([key]) => !used.has(key));
    for (const [key] of gone) this.#open.delete(key);
    await Promise.all(gone.map(([, portal]) => portal.close()));
  }
}
