/** The certificates a node asks its API server for, kept current: one as a client, one for its server. */
import type { Client } from '../client/client.ts';
import { requestCertificate } from '../client/certificate-request.ts';
import { createCertificateManager, type CertificateManager } from '../component-helpers/pki/certificate-manager.ts';
import type { KeyPairPem } from '../component-helpers/pki/certificates.ts';
import type { Platform } from '../platform/platform.ts';

/** Which certificate, of whom. */
export interface NodeCertificateConfig {
  readonly kind: 'kubelet-client' | 'kubelet-server';
  readonly nodeName: string;
  /** Folder of its file. */
  readonly dir: string;
  /** Addresses a serving certificate is for; asked whenever it is made or checked. */
  readonly nodeIps?: () => readonly string[];
  /** One that was given by hand: used while there is no file. */
  readonly given?: KeyPairPem;
}

const SIGNERS = {
  'kubelet-client': { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usage: 'client auth' },
  'kubelet-server': { signerName: 'kubernetes.io/kubelet-serving', usage: 'server auth' },
} as const;

/** Makes the manager; `client` is asked for whenever a request is sent. */
export function createNodeCertificate(
  platform: Platform,
  { kind, nodeName, dir, nodeIps, given }: NodeCertificateConfig,
  client: () => Client,
): CertificateManager {
  const { files, clock, crypto, random } = platform;
  const { signerName, usage } = SIGNERS[kind];
  const usages = ['digital signature', usage];
  return createCertificateManager(
    {
      files,
      clock,
      crypto,
      random,
      log: platform.log.child('certificates'),
      sign: (requestPem, signal) =>
        requestCertificate({ client: client(), clock }, { requestPem, signerName, usages }, signal),
    },
    {
      dir,
      name: kind,
      ...(given === undefined ? {} : { given }),
      subject: () => ({
        commonName: `system:node:${nodeName}`,
        organizations: ['system:nodes'],
        ...(kind === 'kubelet-server' ? { dnsNames: [nodeName], ipAddresses: nodeIps?.() ?? [] } : {}),
      }),
    },
  );
}
