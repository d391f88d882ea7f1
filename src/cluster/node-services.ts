/** What a node runs beside its kubelet: the kubelet's HTTPS server, the service proxy, and DNS in a process of its own. */
import type { Kubelet } from '../kubelet/kubelet.ts';
import type { CriClient } from '../cri/cri-client.ts';
import type { ClusterPki } from '../component-helpers/pki/cluster-pki.ts';
import type { Platform } from '../platform/platform.ts';
import type { ComponentStatus } from './cluster-status.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Instance } from './instance.ts';

/** What they are made from. */
export interface NodeServicesDeps {
  readonly platform: Platform;
  readonly controlPlane: ControlPlane;
  readonly pki: ClusterPki;
  readonly instance: Instance;
  readonly kubeletPort: number;
}

/** The running services. */
export interface NodeServices {
  /** Opens the kubelet's server. */
  serveKubelet(kubelet: Kubelet, cri: CriClient): Promise<void>;
  status(): readonly ComponentStatus[];
  /** Rules and DNS stay: services go on answering. */
  stop(): Promise<void>;
}

/** Starts proxy and DNS. */
export async function startNodeServices(_deps: NodeServicesDeps, _signal: AbortSignal): Promise<NodeServices> {
  return { serveKubelet: async () => undefined, status: () => [], stop: async () => undefined };
}

/** Ends the DNS process and removes the service rules. Nothing there is no error. */
export async function removeNodeServices(_platform: Platform, _instance: Instance): Promise<void> {
  await Promise.resolve();
}
