/** Sub-resources that stream through kubelets. Upstream: registry/core/{pod,service,node}/rest. */
import { Nodes, Pods, Services } from '../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { badRequest, forbidden, notFound } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { Authorizer } from '../authz/contract.ts';
import { attributesOf } from '../filters/authorization.ts';
import type { RequestContext } from '../request-context.ts';
import type { ObjectStore } from './object-store.ts';
import type { ConnectSubresource } from './resource-definition.ts';
import type { KubeletCall, KubeletConnector, ProxyTarget } from './services.ts';

const PROXY_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

function find<T extends KubernetesObject>(
  objects: ObjectStore,
  info: ResourceInfo<T>,
  key: { namespace: string; name: string },
): Stored<T> {
  const object = objects.get(info, key.namespace, key.name);
  if (object === undefined) throw notFound(info, key.name);
  return object;
}

/**
 * WebSockets are opened by GET, which must be authorized like the POST with the same effect. Upstream:
 * ensureAuthorizedForVerb. Throws 403.
 */
async function mayCreate(authorizer: Authorizer, { user, info }: RequestContext): Promise<void> {
  if (info.verb === 'create') return;
  const { decision, reason } = await authorizer.authorize({ ...attributesOf(user, info), verb: 'create' });
  if (decision !== 'allow') throw forbidden({ group: info.apiGroup, resource: info.resource }, info.name, reason);
}

/** log, exec, attach and portforward of pods. */
export function podConnectSubresources(
  objects: ObjectStore,
  kubelets: KubeletConnector,
  authorizer: Authorizer,
): Record<string, ConnectSubresource> {
  const stream = (subresource: 'exec' | 'attach' | 'portforward'): ConnectSubresource => ({
    methods: ['GET', 'POST'],
    async serve(request, context) {
      await mayCreate(authorizer, context);
      return await kubelets.connectPod(find(objects, Pods, context.info), subresource, { request, context });
    },
  });
  return {
    log: {
      methods: ['GET'],
      serve: (request, context) => kubelets.connectPod(find(objects, Pods, context.info), 'log', { request, context }),
    },
    exec: stream('exec'),
    attach: stream('attach'),
    portforward: stream('portforward'),
    proxy: proxySubresource(objects, Pods, (pod, target, call) => kubelets.proxyPod(pod, target, call)),
  };
}

/** Splits `[scheme:]name[:port]` in a proxied path; undefined when it is invalid. */
function splitProxyName(text: string): ({ readonly name: string } & ProxyTarget) | undefined {
  const parts = text.split(':');
  if (parts.length === 1) return { scheme: '', name: parts[0]!, port: '' };
  if (parts.length === 2) return { scheme: '', name: parts[0]!, port: parts[1]! };
  const [scheme, name, port] = parts;
  return parts.length === 3 && (scheme === '' || scheme === 'http' || scheme === 'https')
    ? { scheme, name: name!, port: port! }
    : undefined;
}

function proxySubresource<T extends KubernetesObject>(
  objects: ObjectStore,
  info: ResourceInfo<T>,
  proxy: (object: T, target: ProxyTarget, call: KubeletCall) => Promise<ApiResponse>,
): ConnectSubresource {
  return {
    methods: PROXY_METHODS,
    async serve(request, context) {
      const target = splitProxyName(context.info.name);
      if (target === undefined) throw badRequest(`invalid ${info.singular} request "${context.info.name}"`);
      const object = find(objects, info, { namespace: context.info.namespace, name: target.name });
      return proxy(object, target, { request, context });
    },
  };
}

export function serviceProxySubresource(objects: ObjectStore, kubelets: KubeletConnector): ConnectSubresource {
  return proxySubresource(objects, Services, (service, target, call) => kubelets.proxyService(service, target, call));
}

/** Kubelet paths that run commands, whatever the method. */
const RUNNING = new Set(['exec', 'attach', 'portForward', 'run']);

/** Whether any segment of the path runs commands, so that the kubelet's normalization of the path does not matter. */
function runsSomething({ info }: RequestContext): boolean {
  return info.rest.split(/[/\\]/).some((segment) => RUNNING.has(segment));
}

/**
 * The proxy of nodes. The kubelet sees the API server's identity, not the user's: a user who may only read must not
 * run commands by the GET of a WebSocket.
 */
export function nodeProxySubresource(
  objects: ObjectStore,
  kubelets: KubeletConnector,
  authorizer: Authorizer,
): ConnectSubresource {
  return proxySubresource(objects, Nodes, async (node, target, call) => {
    if (runsSomething(call.context)) await mayCreate(authorizer, call.context);
    return await kubelets.proxyNode(node, target, call);
  });
}
