/** Sub-resources that stream through kubelets. Upstream: registry/core/{pod,service,node}/rest. */
import { Nodes, Pods, Services } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { badRequest, notFound } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { ObjectStore } from './object-store.ts';
import type { ConnectSubresource } from './resource-definition.ts';
import type { KubeletCall, KubeletConnector, ProxyTarget } from './services.ts';

const PROXY_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

function find<T extends KubernetesObject>(
  objects: ObjectStore,
  info: ResourceInfo<T>,
  key: { namespace: string; name: string },
): T {
  const object = objects.get(info, key.namespace, key.name);
  if (object === undefined) throw notFound(info, key.name);
  return object;
}

/** log, exec, attach and portforward of pods. */
export function podConnectSubresources(
  objects: ObjectStore,
  kubelets: KubeletConnector,
): Record<string, ConnectSubresource> {
  const connect = (
    subresource: 'log' | 'exec' | 'attach' | 'portforward',
    methods: readonly string[],
  ): ConnectSubresource => ({
    methods,
    serve: (request, context) =>
      kubelets.connectPod(find(objects, Pods, context.info), subresource, { request, context }),
  });
  return {
    log: connect('log', ['GET']),
    exec: connect('exec', ['GET', 'POST']),
    attach: connect('attach', ['GET', 'POST']),
    portforward: connect('portforward', ['GET', 'POST']),
    proxy: proxySubresource(objects, Pods, (pod, target, call) => kubelets.proxyPod(pod, target, call)),
  };
}

/** Splits `[scheme:]name[:port]` as proxied paths spell it; undefined when it is none. */
export function splitProxyName(text: string): ({ readonly name: string } & ProxyTarget) | undefined {
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

/** The proxy of services. */
export function serviceProxySubresource(objects: ObjectStore, kubelets: KubeletConnector): ConnectSubresource {
  return proxySubresource(objects, Services, (service, target, call) => kubelets.proxyService(service, target, call));
}

/** The proxy of nodes. */
export function nodeProxySubresource(objects: ObjectStore, kubelets: KubeletConnector): ConnectSubresource {
  return proxySubresource(objects, Nodes, (node, target, call) => kubelets.proxyNode(node, target, call));
}
