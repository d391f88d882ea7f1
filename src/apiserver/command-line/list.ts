/** All options of `keelson apiserver`. A new set: a file and a line in each of the three places. */
import { etcdOptions, type EtcdOptions } from './etcd-options.ts';
import { apiServerFixedFlags } from './api-server-fixed.ts';
import { fixedOptions } from '../../component-helpers/command-line/fixed-flags.ts';
import { type Flag, parseFlags } from '../../component-helpers/command-line/flags.ts';
import { type HttpOptions, httpOptions } from './http-options.ts';
import { type LogOptions, logOptions } from '../../component-helpers/command-line/log-options.ts';
import { RETIRED_FLAGS } from './retired-flags.ts';
import { serviceAccountOptions, type ServiceAccountOptions } from './service-account-options.ts';
import { servingOptions, type ServingOptions } from './serving-options.ts';
import { sharedOptions } from './shared-options.ts';
import type { ApiServerOptions as SharedOptions } from '../options/api-server-options.ts';

export interface ApiServerOptions {
  readonly etcd: EtcdOptions;
  readonly serving: ServingOptions;
  /** How requests of any kind and the end of the server are handled. */
  readonly http: HttpOptions;
  readonly serviceAccounts: ServiceAccountOptions;
  /** Admission, authentication, authorization, audit, limits, node ports. */
  readonly shared: SharedOptions;
  readonly log: LogOptions;
  /** For stderr. */
  readonly warnings: readonly string[];
}

const fixed = fixedOptions(apiServerFixedFlags);

/** Every flag. */
export const apiServerFlags: readonly Flag[] = [
  ...etcdOptions.flags,
  ...servingOptions.flags,
  ...serviceAccountOptions.flags,
  ...sharedOptions.flags,
  ...httpOptions.flags,
  ...logOptions.flags,
  ...fixed.flags,
];

/** Reads a command line. Throws `FlagError`. */
export function parseApiServerOptions(args: readonly string[]): ApiServerOptions {
  const { values, warnings } = parseFlags(args, apiServerFlags, RETIRED_FLAGS);
  const notes = fixed.read(values);
  const serviceAccounts = serviceAccountOptions.read(values);
  const gates = Object.keys(serviceAccounts.featureGates);
  return {
    etcd: etcdOptions.read(values),
    serving: servingOptions.read(values),
    serviceAccounts,
    shared: sharedOptions.read(values),
    http: httpOptions.read(values),
    log: logOptions.read(values),
    warnings: [
      ...warnings,
      ...notes,
      ...(gates.length > 0 ? [`feature gates change nothing here: ${gates.join(', ')}`] : []),
    ],
  };
}
