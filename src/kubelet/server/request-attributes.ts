/**
 * The authorization attributes of a request to the kubelet: a verb on a sub-resource of its node. Upstream:
 * server/auth.go (NodeRequestAttributesGetter).
 *
 * Differs: exec, attach and port-forward are `create` over WebSockets too; upstream treats a WebSocket's GET as
 * `get`, so that users with read access to `nodes/proxy` can run commands.
 */

/** One set of attributes; a request is allowed if any of several is. */
export interface NodeRequestAttributes {
  readonly verb: string;
  readonly subresource: string;
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

const SUBRESOURCES: Readonly<Record<string, readonly string[]>> = {
  stats: ['stats'],
  metrics: ['metrics'],
  logs: ['log'],
  checkpoint: ['checkpoint'],
  pods: ['pods', 'proxy'],
  runningpods: ['pods', 'proxy'],
  healthz: ['healthz', 'proxy'],
  configz: ['configz', 'proxy'],
  statusz: ['statusz'],
};

const RUNNING = new Set(['exec', 'attach', 'portForward', 'run']);

/** The alternatives for a request, in the order in which they are checked. */
export function attributesOf(method: string, path: string): readonly NodeRequestAttributes[] {
  const first = path.split('/')[1] ?? '';
  const verb = RUNNING.has(first) ? 'create' : (VERBS[method] ?? '');
  const names = Object.hasOwn(SUBRESOURCES, first) ? SUBRESOURCES[first]! : ['proxy'];
  return names.map((subresource) => ({ verb, subresource }));
}
