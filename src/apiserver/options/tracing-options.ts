/** Whether requests are traced. Upstream: server/options/tracing.go. */
import { type Flag, type FlagValues, textOf } from './flags.ts';

export const TRACING_FLAGS: readonly Flag[] = [
  {
    name: 'tracing-config-file',
    value: '<file>',
    description: 'apiserver.config.k8s.io/v1 TracingConfiguration: where spans of requests go, and of how many',
  },
];

export interface TracingOptions {
  /** Absent: requests are not traced. */
  readonly configFile?: string | undefined;
}

export function parseTracingOptions(values: FlagValues): TracingOptions {
  return { configFile: textOf(values, 'tracing-config-file') };
}
