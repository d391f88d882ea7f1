/**
 * A real HTTPS port of a simulated cluster, for kubectl, `@kubernetes/client-node`, or an operator in any language. Certificates
 * are created when the first port is opened. Requests do not advance a virtual clock: `advance` and `waitFor` do.
 */
import { createHttpHandler } from '../apiserver/http-adapter.ts';
import type { ApiHandler, ApiResponse } from '../api/transport.ts';
import { kubeconfigYaml } from '../cluster/kubeconfig.ts';
import { createYamlCodec } from '../cluster/yaml/yaml-threads.ts';
import { ensureClusterPki, type ClusterPki } from '../component-helpers/pki/cluster-pki.ts';
import type { Clock } from '../platform/clock.ts';
import type { HttpRequest, HttpServer, ListenHttp } from '../platform/http.ts';
import type { Platform } from '../platform/platform.ts';
import type { Random } from '../platform/random.ts';
import type { Threads } from '../platform/threads.ts';
import type { Pace } from './pace.ts';

/** An open port. */
export interface Listening {
  /** `https://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  /** YAML of a kubeconfig for the administrator. */
  readonly kubeconfig: string;
  close(): Promise<void>;
}

/** The address and options of a port. */
export interface ListenAt {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Further names and addresses of the port for its certificate. */
  readonly names?: readonly string[];
  /** The name of cluster, user and context in the kubeconfig. Default `keelson`. */
  readonly clusterName?: string;
  /** Wraps the API server's handler for the port's clients. */
  readonly wrapHandler?: (handler: ApiHandler) => ApiHandler;
  /** Virtual time advances by itself and not while a request waits. */
  readonly timeRuns?: boolean;
  /** The port's certificate authority is not published to pods: the port changes nothing in the cluster. */
  readonly leaveCluster?: boolean;
}

/** The fields of `ListenAt`; the type requires each of them. */
export const LISTEN_FIELDS: Readonly<Record<keyof ListenAt, true>> = {
  host: true,
  port: true,
  names: true,
  clusterName: true,
  wrapHandler: true,
  timeRuns: true,
  leaveCluster: true,
};

export interface ListenerDeps {
  readonly pace: Pace;
  readonly random: Random;
  /** Undefined while the server is down. */
  readonly handler: () => ApiHandler | undefined;
  readonly listenHttp: ListenHttp;
  readonly threads: Threads;
  readonly pki: ClusterPki;
}

/** Creates authority and certificates in `files`, with real randomness and real time, because real clients verify them. */
export function makePki(
  platform: Pick<Platform, 'files' | 'crypto' | 'random' | 'clock'>,
  dir: string,
  names: readonly string[],
): Promise<ClusterPki> {
  const { files, crypto, random, clock } = platform;
  const ipAddresses = names.filter((name) => /^[\d.]+$|:/.test(name));
  return ensureClusterPki(
    files,
    { crypto, random, nowMs: () => clock.nowMs() },
    {
      dir,
      names: {
        nodeName: 'control-plane',
        ipAddresses: [...new Set(['127.0.0.1', '::1', '10.96.0.1', ...ipAddresses])],
        dnsNames: [
          'localhost',
          'kubernetes',
          'kubernetes.default',
          'kubernetes.default.svc',
          'kubernetes.default.svc.cluster.local',
          ...names.filter((name) => !ipAddresses.includes(name)),
        ],
      },
    },
  );
}

export async function openListener(
  deps: ListenerDeps,
  { host = '127.0.0.1', port = 0, clusterName = 'keelson', wrapHandler = (handler) => handler, timeRuns }: ListenAt,
): Promise<Listening> {
  const { pki, pace } = deps;
  const drive = <T>(work: Promise<T>): Promise<T> => (timeRuns === true ? work : pace.drive(work));
  const serve = createHttpHandler(wrapHandler(whileUp(deps.handler)), deps.random.fork('audit-ids'), {
    yaml: createYamlCodec(deps.threads),
    clock: pace.clock,
  });
  const handler = (request: HttpRequest) =>
    // Time that runs by itself is not held, because tokens are checked in simulated time.
    request.path.startsWith('/console') && timeRuns !== true
      ? whileTimeStands(pace.clock, () => Promise.resolve(serve(request)))
      : drive(Promise.resolve(serve(holding(request, pace.clock))));
  const server: HttpServer = await deps.listenHttp(
    { host, port, tls: { ...pki.apiServer, clientCaPem: pki.ca.certPem } },
    handler,
  );
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const url = `https://${name.includes(':') ? `[${name}]` : name}:${server.port}`;
  return {
    url,
    port: server.port,
    kubeconfig: kubeconfigYaml({
      server: url,
      caPem: pki.ca.certPem,
      ...pki.admin,
      user: clusterName,
      cluster: clusterName,
    }),
    close: () => server.close(0),
  };
}

/** Passes requests to the running server; 503 while there is none. */
function whileUp(handler: () => ApiHandler | undefined): ApiHandler {
  return (request) => handler()?.(request) ?? DOWN;
}

const DOWN: ApiResponse = {
  kind: 'bytes',
  status: 503,
  headers: { 'content-type': 'text/plain', 'retry-after': '1' },
  chunks: [Buffer.from('the API server is down\n')],
};

/** Loads the console's code and files in real time. */
async function whileTimeStands<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  const release = clock.holdBusy('a request for the console');
  try {
    return await work();
  } finally {
    release();
  }
}

/** Virtual time stands while a body is read, which takes real time. */
function holding(request: HttpRequest, clock: Clock): HttpRequest {
  const { method, path, query, headers, remoteAddress, peerCertificate, signal, wantsUpgrade } = request;
  return {
    method,
    path,
    query,
    headers,
    headerLines: (name) => request.headerLines(name),
    remoteAddress,
    signal,
    wantsUpgrade,
    peerCertificate,
    async readBody(limitBytes) {
      const release = clock.holdBusy(`the body of ${method} ${path}`);
      try {
        return await request.readBody(limitBytes);
      } finally {
        release();
      }
    },
    bodyStream: () => request.bodyStream(),
  };
}
