/**
 * Has a certificate request signed by the cluster: creates the CertificateSigningRequest and waits for its certificate.
 * Upstream: client-go util/certificate/csr.
 */
import { CertificateSigningRequests } from '../api/gen/resources.ts';
import type { Clock } from '../platform/clock.ts';
import type { Client } from './client.ts';

const POLL_MS = 250;
const WAIT_MS = 15 * 60_000;

export interface CertificateOrder {
  readonly requestPem: string;
  readonly signerName: string;
  readonly usages: readonly string[];
}

/** The certificate, PEM. Rejects when the request is denied, fails, or is not signed within 15 minutes. */
export async function requestCertificate(
  { client, clock }: { readonly client: Client; readonly clock: Clock },
  { requestPem, signerName, usages }: CertificateOrder,
  signal: AbortSignal,
): Promise<string> {
  const requests = client.resource(CertificateSigningRequests);
  const created = await requests.create(
    {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: 'csr-' },
      spec: { request: Buffer.from(requestPem).toString('base64'), signerName, usages: [...usages] },
    },
    { signal },
  );
  const name = created.metadata.name;
  const deadlineMs = clock.monotonicMs() + WAIT_MS;
  while (clock.monotonicMs() < deadlineMs) {
    const { status } = await requests.get({ name }, { signal });
    if ((status?.certificate ?? '') !== '') return Buffer.from(status?.certificate ?? '', 'base64').toString('utf8');
    const refusal = status?.conditions?.find((c) => c.type === 'Denied' || c.type === 'Failed');
    if (refusal !== undefined)
      throw new Error(`certificate request ${name}: ${refusal.type}: ${refusal.reason ?? ''} ${refusal.message ?? ''}`);
    await clock.sleep(POLL_MS, signal);
  }
  throw new Error(`certificate request ${name} is not signed after ${WAIT_MS / 60_000} minutes`);
}
