/**
 * How a node reaches its control plane: in-process where both are one process, over HTTPS from another machine. The node's
 * parts are composed the same way over either.
 */
import type { Principal } from '../../api/transport.ts';
import type { Client } from '../../client/client.ts';
import { issueCertificate, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { ClusterPki } from '../../component-helpers/pki/cluster-pki.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Instance } from '../instance/instance.ts';
import { writeDnsCredentials } from './dns-credentials.ts';

/** A node's way to its control plane. */
export interface NodeConnection {
  /** Acts as the node. */
  readonly kubelet: Client;
  /** Reads what the service proxy and the pod network need. */
  readonly proxy: Client;
  /** Address of the API for processes beside this one. */
  readonly server: string;
  readonly caPem: string;
  /** The kubelet's serving certificate. Resolves when there is one; rejects on the signal's abort. */
  servingCertificate(signal: AbortSignal): Promise<KeyPairPem>;
  /** The node's client certificate; undefined while there is none. */
  clientCertificate(): Promise<KeyPairPem | undefined>;
  /** Calls back when the serving certificate is replaced. */
  onServingCertificate(listener: (pair: KeyPairPem) => void): void;
  /** Brings what DNS reads the cluster with up to date. Called again and again, so that credentials are renewed. */
  writeDnsKubeconfig(path: string): Promise<void>;
}

const PROXY: Principal = { name: 'system:kube-proxy', groups: ['system:authenticated'] };

/** The user of a node's kubelet. */
export function nodePrincipal(nodeName: string): Principal {
  return { name: `system:node:${nodeName}`, groups: ['system:nodes', 'system:authenticated'] };
}

const CERTIFICATE_MS = 86_400_000;

/** A client certificate for the node beside its cluster's authority, issued at the first call and again after half its time. */
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

/** The connection inside one process. */
export function createLocalConnection(
  platform: Platform,
  input: {
    readonly controlPlane: ControlPlane;
    readonly pki: ClusterPki;
    readonly instance: Instance;
    /** Its URL for programs of this machine. */
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
