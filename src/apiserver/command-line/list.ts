/** All options of `keelson apiserver`. A new set: a file and a line in each of the three places. */
import { etcdOptions, type EtcdOptions } from './etcd-options.ts';
import { fixedOptions } from './fixed-flags.ts';
import { type Flag, parseFlags } from './flags.ts';
import { serviceAccountOptions, type ServiceAccountOptions } from './service-account-options.ts';
import { servingOptions, type ServingOptions } from './serving-options.ts';
import { sharedOptions } from './shared-options.ts';
import type { ApiServerOptions as SharedOptions } from '../options/api-server-options.ts';

/** Everything the command line settles. */
export interface ApiServerOptions {
  readonly etcd: EtcdOptions;
  readonly serving: ServingOptions;
  readonly serviceAccounts: ServiceAccountOptions;
  /** Admission, authentication, authorization, audit, limits, node ports. */
  readonly shared: SharedOptions;
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
  ...serviceAccountOptions.flags,
  ...sharedOptions.flags,
  ...fixedOptions.flags,
  ...common,
];

/** Reads a command line. Throws `FlagError`. */
export function parseApiServerOptions(args: readonly string[]): ApiServerOptions {
  const { values, warnings } = parseFlags(args, apiServerFlags);
  fixedOptions.read(values);
  const serviceAccounts = serviceAccountOptions.read(values);
  const gates = Object.keys(serviceAccounts.featureGates);
  return {
    etcd: etcdOptions.read(values),
    serving: servingOptions.read(values),
    serviceAccounts,
    shared: sharedOptions.read(values),
    logLevel: Number(values.text('v') ?? 0) >= 4 ? 'debug' : 'info',
    warnings: [...warnings, ...(gates.length > 0 ? [`feature gates change nothing here: ${gates.join(', ')}`] : [])],
  };
}
