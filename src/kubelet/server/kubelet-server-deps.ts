/** The dependencies of the kubelet's server and of the routes it serves. */
import type { Platform } from '../../platform/platform.ts';
import type { ContainerRuntime } from '../container/runtime.ts';
import type { StatsProvider } from '../stats/stats-provider.ts';
import type { KubeletHost } from './host.ts';
import type { KubeletAuth } from './kubelet-auth.ts';
import { type NodeLogs } from './create-node-logs.ts';

export interface KubeletServerDeps {
  readonly host: KubeletHost;
  readonly runtime: ContainerRuntime;
  readonly auth: KubeletAuth;
  readonly stats: Omit<StatsProvider, 'node'>;
  readonly platform: Pick<Platform, 'clock' | 'compression' | 'files' | 'exec' | 'net' | 'log' | 'metrics'>;
  /** Counters of probes in Prometheus text, for /metrics/probes. */
  readonly probeMetrics: () => Promise<string>;
  /** This is the read-only server. */
  readonly readOnly?: boolean;
  /** The directory of checkpoints; absent: they are not supported. */
  readonly checkpointDirectory?: string;
  /** The directory of local-path volumes; absent: none can be removed. */
  readonly localPathRoot?: string;
  /** False: exec, attach, logs and port-forward are not served. Upstream's enableDebuggingHandlers. */
  readonly debuggingHandlers?: boolean;
  /** Closes exec, attach and port-forward that are idle for this time. Absent: never. */
  readonly streamIdleTimeoutMs?: number;
  /** The directory of the node's logs; absent: they are not served. Upstream's enableSystemLogHandler. */
  readonly systemLogDirectory?: string;
  /** Queries for logs of the node's services are supported. Upstream's enableSystemLogQuery. */
  readonly systemLogQuery?: boolean;
}

/** The dependencies with the server's start time and the handler of node logs. */
export type ServedDeps = KubeletServerDeps & { readonly startedMs: number; readonly nodeLogs: NodeLogs | undefined };
