/** Flags of components that call the API and elect a leader. */
import { anyValue, onlyDefault } from '../component-helpers/command-line/component-flags.ts';
import type { FixedFlags } from '../component-helpers/command-line/fixed-flags.ts';
import type { Flag } from '../component-helpers/command-line/flags.ts';

/** Flags of the connection to the API server. */
export const CLIENT_FLAGS: readonly Flag[] = [
  { name: 'kubeconfig', type: 'string', description: 'how to reach the API server' },
  { name: 'master', type: 'string', description: 'address of the API server (overrides the kubeconfig)' },
];

const UNLIMITED = 'clients have no limit of their own: the server’s fairness decides';

/** Client flags without effect; the default limits are upstream's for the component. */
export const clientFixedFlags = ({ qps, burst }: { readonly qps: string; readonly burst: string }): FixedFlags => ({
  'kube-api-qps': anyValue(qps, UNLIMITED),
  'kube-api-burst': anyValue(burst, UNLIMITED),
  'kube-api-content-type': anyValue('application/vnd.kubernetes.protobuf', 'clients speak JSON'),
  'leader-elect-resource-lock': onlyDefault('leases', 'leaders are elected over Leases', 'always leases here'),
});

/** Flags of leader election. */
export function electionFlags(lease: string): readonly Flag[] {
  const named = (name: string, description: string): Flag => ({ name, type: 'string', description });
  return [
    { name: 'leader-elect', type: 'bool', description: 'agree with other instances on who works (default true)' },
    named('leader-elect-lease-duration', 'how long others wait for a silent leader (default 15s)'),
    named('leader-elect-renew-deadline', 'how long a leader tries to renew before it gives up (default 10s)'),
    named('leader-elect-retry-period', 'between tries (default 2s)'),
    named('leader-elect-resource-name', `name of the Lease (default ${lease})`),
    named('leader-elect-resource-namespace', 'its namespace (default kube-system)'),
  ];
}

/** Flags that serve health and metrics without TLS on a given address. */
export const INSECURE_FLAGS: readonly Flag[] = [
  { name: 'address', type: 'string', description: 'where to serve health and metrics without TLS (default 127.0.0.1)' },
  { name: 'port', type: 'string', description: 'port of these; 0 serves nothing (default 0)' },
  { name: 'log-level', type: 'string', description: 'debug, info, warn or error (default info)' },
];
