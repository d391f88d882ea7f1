/**
 * The userspace mode: every service port is a port of this process, found through redirecting rules, as the first
 * kube-proxy did it. Connections end with this process. Slower than rules alone; for kernels whose load balancing is not to
 * be trusted, and for learning. Rules are one small nftables table of the instance, written whole.
 *
 * Upstream: pkg/proxy/userspace (until 1.25). Unlike it, traffic policies and source ranges are kept; as there, pods see
 * the node as their client whatever the policy, and SCTP is refused: by a rule, and by name in the log.
 */
import type { Platform } from '../../platform/platform.ts';
import { removalScript, type TableConfig } from '../nft-script.ts';
import { createApplyLoop, type Extent } from '../apply-loop.ts';
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
  /** Flows that lead to ports which are no more; they may go after `onApplied`. */
  onStaleFlows(filters: readonly FlowFilter[]): void;
  onApplied(): void;
}

const MIN_GAP_MS = 20;

type Deps = ApplierDeps & Pick<Platform, 'net' | 'datagrams'>;

/** Makes an applier that does nothing until it runs. */
export function createUserspaceApplier(deps: Deps, config: UserspaceApplierConfig): RuleApplier {
  const { clock, log } = deps;
  const metrics = createProxyMetrics(deps.metrics);
  const portals = new Portals(deps);
  let last = '';
  let refused: ReadonlySet<string> = new Set();

  const nft = async (input: string): Promise<void> => {
    const [file = '', ...args] = [...(config.commandPrefix ?? []), 'nft', '-f', '-'];
    const { exitCode, stderr } = await deps.exec.run(file, args, { input });
    if (exitCode !== 0) throw new Error(`nft: ${stderr.trim().slice(0, 1000)}`);
  };
  async function apply({ whole }: Extent): Promise<void> {
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

/** The kernel sends the datagrams of clients that go on talking to the port a service had before, maybe of another process. */
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

  /** Opens what is missing, tells all their endpoints, and adds them to `used`; returns where each listens and which are new. */
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

  /** Ends those of services that are gone. */
  async closeOthers(used: ReadonlySet<string>): Promise<void> {
    const gone = [...this.#open].filter(([key]) => !used.has(key));
    for (const [key] of gone) this.#open.delete(key);
    await Promise.all(gone.map(([, portal]) => portal.close()));
  }
}
