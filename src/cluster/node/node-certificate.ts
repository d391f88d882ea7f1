/**
 * Keeps the two certificates that a node requests from its API server current: its client certificate and its serving
 * certificate.
 */
import { onAbort } from '../../base/abort.ts';
import type { Client } from '../../client/client.ts';
import { requestCertificate } from '../../client/certificate-request.ts';
import { createCertificateManager, type CertificateManager } from '../../component-helpers/pki/certificate-manager.ts';
import type { KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import type { Platform } from '../../platform/platform.ts';

/** Which certificate is kept, and for which node. */
export interface NodeCertificateConfig {
  readonly kind: 'kubelet-client' | 'kubelet-server';
  readonly nodeName: string;
  /** The folder of the certificate's file. */
  readonly dir: string;
  /** The addresses in a serving certificate, read at each request and check. */
  readonly nodeIps?: () => readonly string[];
  /** A configured certificate, used until the file exists. */
  readonly configured?: KeyPairPem;
  /** Whether the error of the first request is final, so that retrying is useless. */
  readonly isRefusal?: (error: unknown) => boolean;
}

const SIGNERS = {
  'kubelet-client': { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usage: 'client auth' },
  'kubelet-server': { signerName: 'kubernetes.io/kubelet-serving', usage: 'server auth' },
} as const;

/** Calls `client` before each request. */
export function createNodeCertificate(
  platform: Platform,
  { kind, nodeName, dir, nodeIps, configured, isRefusal }: NodeCertificateConfig,
  client: () => Client,
): CertificateManager {
  const { files, clock, crypto, random } = platform;
  const { signerName, usage } = SIGNERS[kind];
  const usages = ['digital signature', usage];
  const failures = platform.metrics.counter(RENEW_ERRORS[kind]);
  const manager = createCertificateManager(
    {
      files,
      clock,
      crypto,
      random,
      log: platform.log.child('certificates'),
      sign: (requestPem, signal) =>
        requestCertificate({ client: client(), clock }, { requestPem, signerName, usages }, signal).catch(
          (error: unknown) => {
            if (!signal.aborted) failures.inc();
            throw error;
          },
        ),
    },
    {
      dir,
      name: kind,
      configured,
      isRefusal,
      subject: () => ({
        commonName: `system:node:${nodeName}`,
        organizations: ['system:nodes'],
        ...(kind === 'kubelet-server' ? { dnsNames: [nodeName], ipAddresses: nodeIps?.() ?? [] } : {}),
      }),
    },
  );
  return withMetrics(manager, () => exposeTimeToLive(platform, kind, manager));
}

/** The certificate manager, with metrics while it runs; they end with the node. */
function withMetrics(manager: CertificateManager, expose: () => () => void): CertificateManager {
  const working = new Set<AbortSignal>();
  let end = (): void => undefined;
  const begin = (signal: AbortSignal): void => {
    if (signal.aborted || working.has(signal)) return;
    if (working.size === 0) end = expose();
    working.add(signal);
    onAbort(signal, () => {
      working.delete(signal);
      if (working.size === 0) end();
    });
  };
  return {
    file: manager.file,
    current: () => manager.current(),
    load: () => manager.load(),
    onRenewed: (listener) => manager.onRenewed(listener),
    ensure(signal) {
      begin(signal);
      return manager.ensure(signal);
    },
    keep(signal) {
      begin(signal);
      return manager.keep(signal);
    },
  };
}

/** Upstream's two metric names differ in word order. */
const RENEW_ERRORS = {
  'kubelet-client': {
    name: 'kubelet_certificate_manager_client_expiration_renew_errors',
    help: 'Counter of certificate renewal errors.',
  },
  'kubelet-server': {
    name: 'kubelet_server_expiration_renew_errors',
    help: 'Counter of certificate renewal errors.',
  },
} as const;

/** Exposes the certificate's remaining lifetime as a metric. Returns a function that ends it. */
function exposeTimeToLive(
  { clock, crypto, metrics }: Platform,
  kind: NodeCertificateConfig['kind'],
  manager: CertificateManager,
): () => void {
  const side = kind === 'kubelet-client' ? 'client' : 'server';
  const gauge = metrics.gauge({
    name: `kubelet_certificate_manager_${side}_ttl_seconds`,
    help: `Shortest TTL (in seconds) of the Kubelet's ${side} certificate. Infinite without one, negative after its end.`,
  });
  let known: { readonly pair: KeyPairPem; readonly notAfterMs: number } | undefined;
  const end = metrics.beforeExpose(() => {
    const pair = manager.current();
    if (known?.pair !== pair)
      known = pair && { pair, notAfterMs: readCertificate({ crypto }, pair.certPem).notAfterMs };
    gauge.set(((known?.notAfterMs ?? Infinity) - clock.nowMs()) / 1000);
  });
  return () => {
    end();
    gauge.remove({});
  };
}
