/**
 * The API server's part of log, exec, attach, port-forward and the proxies. Upstream:
 * registry/core/{pod,service,node}/rest with pkg/kubelet/client.
 *
 * Differs: the runtime refuses port-forward tunnelled in WebSockets, and clients fall back to SPDY; of remote
 * commands only v5 is translated, older protocols are forwarded unchanged.
 */
import type { Stored } from '../../api/object.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { badRequest } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { openTunnel, isUpgradeRequest } from '../../component-helpers/streaming/upgrade-tunnel.ts';
import type { Clock } from '../../platform/clock.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { HttpAnswer, Net } from '../../platform/net.ts';
import type { Random } from '../../platform/random.ts';
import type { ByteSink } from '../../platform/streams.ts';
import type { KubeletCall, KubeletConnector } from '../registry/services.ts';
import { paceOf } from '../turns.ts';
import { dialError, kubeletRefusal } from './backend-error.ts';
import { pathBehindProxy, proxyRequest } from './http-proxy.ts';
import { type KubeletAccess, type KubeletTarget, kubeletTarget, kubeletTargetOf } from './kubelet-target.ts';
import { containerOf, logQuery, portForwardQuery, streamOptions, streamQuery } from './pod-options.ts';
import {
  type DialledLocation,
  nodeLocation,
  podLocation,
  type ProxyLocation,
  resolveLocation,
  serviceLocation,
} from './proxy-location.ts';
import { translateStreams, wantsTranslation } from './stream-translator.ts';
import { logMessages, overWebSocket, wantsWebSocket } from './websocket-stream.ts';

export interface KubeletConnectorDeps extends KubeletAccess {
  readonly net: Net;
  readonly random: Random;
  readonly crypto: CryptoPort;
  readonly clock: Clock;
  /** Whether pages behind the proxies run in a sandbox instead of the server's own origin (`foreign-page.ts`). */
  readonly isolatesPages?: boolean;
}

export function createKubeletConnector(deps: KubeletConnectorDeps): KubeletConnector {
  const random = deps.random.fork('kubelet-connector');
  const proxy = async (location: ProxyLocation, call: KubeletCall): Promise<ApiResponse> => {
    const { base, named } = await resolveLocation(deps.net, location);
    // Certificates of pods and services are not verified, as upstream.
    return proxyTo({ base, tls: { insecureSkipVerify: true, serverName: named?.serverName } }, call, named);
  };
  const proxyTo = async (
    { base, tls }: KubeletTarget,
    { request }: KubeletCall,
    named?: DialledLocation['named'],
  ): Promise<ApiResponse> => {
    const path = pathBehindProxy(request.path);
    const seenAt = path === '' ? request.path : request.path.slice(0, -path.length);
    const headers = named && { host: named.host };
    const { net, isolatesPages = false } = deps;
    return proxyRequest({ net, base, path, tls, seenAt, headers, isolatesPages }, request);
  };
  return {
    connectPod(pod, subresource, call) {
      if (subresource === 'log') return podLogs(deps, pod, call);
      return podStream(deps, { pod, subresource, call });
    },
    proxyPod: async (pod, target, call) => proxy(podLocation(pod, target), call),
    proxyService: async (service, target, call) =>
      proxy(serviceLocation({ objects: deps.objects, random }, service, target), call),
    async proxyNode(node, target, call) {
      const location = nodeLocation(node, target, deps.addressTypes);
      return location === 'kubelet' ? proxyTo(kubeletTargetOf(deps, node), call) : proxy(location, call);
    },
  };
}

function podPath(pod: Stored<Pod>, ...more: readonly string[]): string {
  return [pod.metadata.namespace, pod.metadata.name, ...more].map(encodeURIComponent).join('/');
}

async function podLogs(deps: KubeletConnectorDeps, pod: Stored<Pod>, { request }: KubeletCall): Promise<ApiResponse> {
  const query = new URLSearchParams(request.query);
  const name = pod.metadata.name;
  const kubeletQuery = logQuery(query, name);
  const container = containerOf(pod, query.get('container') ?? '');
  const nodeName = pod.spec?.nodeName ?? '';
  // No container has run yet, so there are no logs.
  if (nodeName === '') return { kind: 'bytes', status: 200, headers: { 'content-type': 'text/plain' }, chunks: [] };
  const target = kubeletTarget(deps, nodeName);
  const url = `${target.base}/containerLogs/${podPath(pod, container)}?${kubeletQuery}`;
  const tls = {
    ...target.tls,
    ...(query.get('insecureSkipTLSVerifyBackend') === 'true' ? { insecureSkipVerify: true } : {}),
  };
  let answer: HttpAnswer;
  try {
    answer = await deps.net.http({ method: 'GET', url, tls, signal: request.signal });
  } catch (error) {
    throw dialError(error);
  }
  if (answer.status < 200 || answer.status > 206) throw await kubeletRefusal(answer, { resource: 'pods/log', name });
  const run = async (sink: ByteSink): Promise<void> => {
    try {
      for await (const chunk of answer.body) await sink.write(chunk);
    } finally {
      answer.cancel();
    }
  };
  const form = logMessages(request);
  if (wantsWebSocket(request) && form !== undefined)
    return overWebSocket({ ...deps, request }, form, { run, dispose: () => answer.cancel() });
  return { kind: 'stream', status: 200, headers: { 'content-type': 'text/plain' }, run };
}

interface StreamOrder {
  readonly pod: Stored<Pod>;
  readonly subresource: 'exec' | 'attach' | 'portforward';
  readonly call: KubeletCall;
}

async function podStream(deps: KubeletConnectorDeps, { pod, subresource, call }: StreamOrder): Promise<ApiResponse> {
  const { request } = call;
  const query = new URLSearchParams(request.query);
  const path = streamPath(pod, subresource, query);
  const nodeName = pod.spec?.nodeName ?? '';
  if (nodeName === '') throw badRequest(`pod ${pod.metadata.name} does not have a host assigned`);
  if (!request.wantsUpgrade || !isUpgradeRequest(request.headers)) throw badRequest('Upgrade request required');
  const { base, tls } = kubeletTarget(deps, nodeName);
  try {
    const order = {
      method: request.method,
      url: `${base}/${path}`,
      headers: request.headers,
      tls,
      signal: request.signal,
    };
    if (subresource !== 'portforward' && wantsTranslation(request.headers))
      return await translateStreams({ ...deps, pace: paceOf(request, deps.clock) }, order, streamOptions(query));
    return await openTunnel(deps.net, order);
  } catch (error) {
    throw dialError(error);
  }
}

function streamPath(pod: Stored<Pod>, subresource: StreamOrder['subresource'], query: URLSearchParams): string {
  if (subresource === 'portforward') return `portForward/${podPath(pod)}?${portForwardQuery(query)}`;
  const container = containerOf(pod, query.get('container') ?? '');
  return `${subresource}/${podPath(pod, container)}?${streamQuery(query, subresource)}`;
}
