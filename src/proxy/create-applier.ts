/** Chooses the applier of the configured mode, which writes the rules of all tables into the kernel. */
import type { Platform } from '../platform/platform.ts';
import { createNftablesApplier } from './nftables-applier.ts';
import { createIptablesApplier } from './iptables/iptables-applier.ts';
import type { ApplierDeps, RuleApplier } from './rule-applier.ts';
import { createUserspaceApplier } from './userspace/userspace-applier.ts';
import type { FlowFilter } from './conntrack.ts';
import type { ProxyTable } from './proxy-tables.ts';
import type { ServiceProxyConfig } from './proxy-config.ts';

/** The tables, and callbacks before and after they are written. */
export interface Applying {
  readonly tables: readonly ProxyTable[];
  readonly commandPrefix?: readonly string[];
  prepare(): Promise<void>;
  onStaleFlows(filters: readonly FlowFilter[]): void;
  onApplied(): void;
}

/** The applier of the configuration's mode. */
export function createApplier(
  deps: ApplierDeps & Pick<Platform, 'crypto' | 'net' | 'datagrams' | 'random'>,
  { mode }: ServiceProxyConfig,
  applying: Applying,
): RuleApplier {
  const { tables, onStaleFlows, ...rest } = applying;
  if (mode === 'nftables') return createNftablesApplier(deps, applying);
  const wanted = ({ services, pods, nodePortRanges: ranges }: ProxyTable) => ({
    nodePortRanges: ranges,
    ports: [...services.values()].flatMap(({ ports }) => ports),
    hostPorts: [...pods.values()].flat(),
  });
  if (mode === 'userspace')
    return createUserspaceApplier(deps, {
      ...rest,
      onStaleFlows,
      tables: tables.map((table) => ({ config: table.config, wanted: () => wanted(table) })),
    });
  const sha256 = (text: string): Uint8Array => Buffer.from(deps.crypto.sha256Hex(text), 'hex');
  return createIptablesApplier(deps, {
    ...rest,
    tables: tables.map((table) => ({ config: { ...table.config, sha256 }, wanted: () => wanted(table) })),
  });
}
