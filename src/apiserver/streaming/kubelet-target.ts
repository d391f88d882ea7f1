/** The URL and credentials for a node's kubelet: at the node's address, or through the tunnel that its agent opened. */
import type { Node } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { notFound } from '../../api/status-error.ts';
import type { TlsOptions } from '../../platform/net.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { kubeletAddress, refuseApiServer } from './kubelet-location.ts';
import type { KubeletTunnels } from './tunnels/kubelet-tunnels.ts';

/** The settings for reaching kubelets. */
export interface KubeletAccess {
  readonly objects: ObjectStore;
  /** The client certificate for kubelets, and the authorities that verify theirs. Called for every request. */
  readonly kubeletTls: () => TlsOptions;
  /** Kinds of node addresses in the order they are tried; absent: InternalIP first. */
  readonly addressTypes?: readonly string[] | undefined;
  /** Absent: all nodes are dialled directly. */
  readonly tunnels?: Pick<KubeletTunnels, 'portOf'> | undefined;
}

export interface KubeletTarget {
  /** `https://host:port` */
  readonly base: string;
  readonly tls: TlsOptions;
}

/** The target by the node's name. Throws 404 for an unknown node, and like `kubeletTargetOf`. */
export function kubeletTarget(access: KubeletAccess, nodeName: string): KubeletTarget {
  const node = access.objects.get(Nodes, '', nodeName);
  if (node === undefined) throw notFound(Nodes, nodeName);
  return kubeletTargetOf(access, node);
}

/** Throws 400 for a forbidden address, and 500 for a node without one. */
export function kubeletTargetOf(access: KubeletAccess, node: Node): KubeletTarget {
  const { objects, kubeletTls, addressTypes, tunnels } = access;
  const { name = '' } = node.metadata;
  const tunnel = tunnels?.portOf(name);
  // The certificate of a kubelet has its node's name.
  if (tunnel !== undefined) return { base: `https://127.0.0.1:${tunnel}`, tls: { ...kubeletTls(), serverName: name } };
  const { address, host, port } = kubeletAddress(node, addressTypes);
  refuseApiServer(objects, { address, port });
  return { base: `https://${host}:${port}`, tls: kubeletTls() };
}
