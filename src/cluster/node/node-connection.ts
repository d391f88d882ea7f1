/**
 * How a node reaches its control plane: in-process when both share a process, over HTTPS from another machine. The
 * node's parts are composed the same way for both.
 */
import type { Principal } from '../../api/transport.ts';
import type { Client } from '../../client/client.ts';
import { issueCertificate, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { ClusterPki } from '../../component-helpers/pki/cluster-pki.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Instance } from '../instance/instance.ts';
import { writeDnsCredentials } from './dns-credentials.ts';

/** A node's connection to its control plane. */
export interface NodeConnection {
  /** Acts as the node's user. */
  readonly kubelet: Client;
  /** Reads what the service proxy and the pod network need. */
  readonly proxy: Client;
  /** The API's address for other processes of this machine. */
  readonly server: string;
  readonly caPem: string;
  /** Resolves with the kubelet's serving certificate as soon as there is one; rejects when the signal aborts. */
  servingCertificate(signal: AbortSignal): Promise<KeyPairPem>;
  /** The node's client certificate; undefined until it is issued. */
  clientCertificate(): Promise<KeyPairPem | undefined>;
  /** Calls the listener when the serving certificate is replaced. */
  onServingCertificate(listener: (pair: KeyPairPem) => void): void;
  /** Updates the kubeconfig that DNS reads the cluster with. Called periodically, which renews its credentials. */
  writeDnsKubeconfig(path: string): Promise<void>;
}

const PROXY: Principal = { name: 'system:kube-proxy', groups: ['system:authenticated'] };

/** The user of a node's kubelet. */
export function nodePrincipal(nodeName: string): Principal {
  return { name: `system:node:${nodeName}`, groups: ['system:nodes', 'system:authenticated'] };
}

const CERTIFICATE_MS = 86_400_000;

/**
 * A client certificate for a node beside its cluster's authority, issued at the first call and again after half its
 * lifetime.
 */
function issuedCertificate(
  { crypto, random, clock }: Platform,
  ca: KeyPairPem,
  { name, groups }: Principal,
): () => Promise<KeyPairPem> {
  let issued: { readonly pair: Promise<KeyPairPem>; readonly atMs: number } | undefined;
  return () => {
    const nowMs = clock.nowMs();
    if (issued !== undefined && Math.abs(nowMs - issued.atMs) < CERTIFICATE_MS / 2) return issued.pair;
    const pair = issueCertificate({ crypto, random, nowMs: () => clock.nowMs() }, ca, {
      commonName: name,
      organizations: groups.filter((group) => group === 'system:nodes'),
      usages: ['client'],
      validityMs: CERTIFICATE_MS,
    });
    issued = { pair, atMs: nowMs };
    return pair;
  };
}

/** The connection within one process. */
export function createLocalConnection(
  platform: Platform,
  input: {
    readonly controlPlane: ControlPlane;
    readonly pki: ClusterPki;
    readonly instance: Instance;
    /** The API's URL for programs of this machine. */
    readonly server: string;
  },
): NodeConnection {
  const { controlPlane, pki, instance, server } = input;
  return {
    kubelet: controlPlane.clientFor(nodePrincipal(instance.nodeName), 'kubelet'),
    proxy: controlPlane.clientFor(PROXY, 'kube-proxy'),
    server,
    caPem: pki.ca.certPem,
    servingCertificate: () => Promise.resolve(pki.kubeletServer),
    onServingCertificate: () => undefined,
    clientCertificate: issuedCertificate(platform, pki.ca, nodePrincipal(instance.nodeName)),
    writeDnsKubeconfig: (path) => writeDnsCredentials(platform, path, { server, ca: pki.ca, pkiDir: instance.pkiDir }),
  };
}
