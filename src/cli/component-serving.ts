/**
 * Where a component serves health and metrics, and who may read them: upstream's flags of secure serving with delegated
 * authentication and authorization, which controller manager and scheduler have alike.
 */
import { parseDurationMs } from '../api/duration.ts';
import { anyValue } from '../component-helpers/command-line/component-flags.ts';
import type { FixedFlags } from '../component-helpers/command-line/fixed-flags.ts';
import { FlagError, type Flag, type FlagValues, type OptionSet } from '../component-helpers/command-line/flags.ts';
import { tlsOptions, type TlsServingOptions } from '../component-helpers/command-line/tls-options.ts';

export interface ComponentServingOptions extends TlsServingOptions {
  /** Paths served without authorization; a trailing `*` includes all paths below. */
  readonly alwaysAllowPaths: readonly string[];
  /** Kubeconfig of the API server that reviews tokens. Absent: only client certificates identify a user. */
  readonly authenticationKubeconfig?: string;
  /** Kubeconfig of the API server that reviews access. Absent: only the paths that are always allowed are served. */
  readonly authorizationKubeconfig?: string;
  /** False: client authorities come from the cluster's ConfigMap. */
  readonly skipsLookup: boolean;
  /** Whether it starts when that lookup fails. */
  readonly toleratesLookupFailure: boolean;
  readonly tokenTtlMs: number;
  readonly allowedTtlMs: number;
  readonly deniedTtlMs: number;
}

const FLAGS: readonly Flag[] = [
  {
    name: 'authentication-kubeconfig',
    type: 'string',
    description: 'API server that is asked about tokens (default: requests are anonymous)',
  },
  {
    name: 'authentication-skip-lookup',
    type: 'bool',
    description: 'do not look up the authorities of clients in the cluster (default false)',
  },
  {
    name: 'authentication-tolerate-lookup-failure',
    type: 'bool',
    description:
      'serve although these could not be looked up at the start, and look again (default: the scheduler does)',
  },
  {
    name: 'authentication-token-webhook-cache-ttl',
    type: 'string',
    description: 'how long answers about tokens are kept (default 10s)',
  },
  {
    name: 'authorization-kubeconfig',
    type: 'string',
    description: 'API server that is asked who may (default: nobody may but where it is always allowed)',
  },
  {
    name: 'authorization-always-allow-paths',
    type: 'list',
    description: 'paths for everybody (default /healthz,/readyz,/livez)',
  },
  {
    name: 'authorization-webhook-cache-authorized-ttl',
    type: 'string',
    description: 'how long consent is kept (default 10s)',
  },
  {
    name: 'authorization-webhook-cache-unauthorized-ttl',
    type: 'string',
    description: 'how long refusal is kept (default 10s)',
  },
];

const NO_PROXIES = 'read, without effect: nobody asks here through a proxy';

/** Flags without effect. */
export const componentServingFixed: FixedFlags = {
  'permit-address-sharing': anyValue('false', 'addresses are always shared so'),
  'requestheader-allowed-names': anyValue('', NO_PROXIES),
  'requestheader-client-ca-file': anyValue('', NO_PROXIES),
  'requestheader-extra-headers-prefix': anyValue('x-remote-extra-', NO_PROXIES),
  'requestheader-group-headers': anyValue('x-remote-group', NO_PROXIES),
  'requestheader-uid-headers': anyValue('', NO_PROXIES),
  'requestheader-username-headers': anyValue('x-remote-user', NO_PROXIES),
};

/** Serving flags of a component with the given default port and default for a failed lookup of client authorities. */
export function componentServingOptions({
  securePort,
  toleratesLookupFailure,
}: {
  readonly securePort: number;
  readonly toleratesLookupFailure: boolean;
}): OptionSet<ComponentServingOptions> {
  const tls = tlsOptions({ securePort, leastPort: 0, certDir: '' });
  return {
    flags: [...tls.flags, ...FLAGS],
    read(values) {
      const [authenticationKubeconfig, authorizationKubeconfig] = [
        values.text('authentication-kubeconfig'),
        values.text('authorization-kubeconfig'),
      ];
      return {
        ...tls.read(values),
        authenticationKubeconfig,
        authorizationKubeconfig,
        alwaysAllowPaths: values.list('authorization-always-allow-paths') ?? ['/healthz', '/readyz', '/livez'],
        skipsLookup: values.bool('authentication-skip-lookup') ?? false,
        toleratesLookupFailure: values.bool('authentication-tolerate-lookup-failure') ?? toleratesLookupFailure,
        tokenTtlMs: ttlMs(values, 'authentication-token-webhook-cache-ttl'),
        allowedTtlMs: ttlMs(values, 'authorization-webhook-cache-authorized-ttl'),
        deniedTtlMs: ttlMs(values, 'authorization-webhook-cache-unauthorized-ttl'),
      };
    },
  };
}

function ttlMs(values: FlagValues, name: string): number {
  const text = values.text(name) ?? '10s';
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 0) return ms;
  throw new FlagError(`invalid argument ${JSON.stringify(text)} for "--${name}" flag: it is no duration such as 10s`);
}
