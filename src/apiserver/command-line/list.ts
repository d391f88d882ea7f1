/** All options of `keelson apiserver`. A new set: a file and a line in each of the two. */
import { accessOptions, type AccessOptions } from './access-options.ts';
import { etcdOptions, type EtcdOptions } from './etcd-options.ts';
import { type Flag, parseFlags } from './flags.ts';
import { servingOptions, type ServingOptions } from './serving-options.ts';

/** Everything the command line settles. */
export interface ApiServerOptions {
  readonly etcd: EtcdOptions;
  readonly serving: ServingOptions;
  readonly access: AccessOptions;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  /** For stderr. */
  readonly warnings: readonly string[];
}

const common: readonly Flag[] = [
  { name: 'v', type: 'string', description: 'verbosity: 4 and above shows what is for debugging (default 0)' },
];

/** Every flag. */
export const apiServerFlags: readonly Flag[] = [
  ...etcdOptions.flags,
  ...servingOptions.flags,
  ...accessOptions.flags,
  ...common,
];

/** Reads a command line. Throws `FlagError`. */
export function parseApiServerOptions(args: readonly string[]): ApiServerOptions {
  const { values, warnings } = parseFlags(args, apiServerFlags);
  const access = accessOptions.read(values);
  const gates = Object.keys(access.featureGates);
  return {
    etcd: etcdOptions.read(values),
    serving: servingOptions.read(values),
    access,
    logLevel: Number(values.text('v') ?? 0) >= 4 ? 'debug' : 'info',
    warnings: [...warnings, ...(gates.length > 0 ? [`feature gates change nothing here: ${gates.join(', ')}`] : [])],
  };
}
