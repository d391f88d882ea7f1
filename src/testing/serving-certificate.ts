/**
 * Certificates for servers of a test: webhooks, conversion, aggregated APIs. Their validity is in real time, by which clients
 * check it.
 */
import { parseIp } from '../base/cidr.ts';
import { createAuthority, issueCertificate } from '../component-helpers/pki/certificates.ts';

/** PEM for the options of `node:https`, and the value of a webhook's or an APIService's `caBundle`. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
  /** The certificate of the authority. */
  readonly ca: string;
  /** `ca` in base64, the form of `caBundle`. */
  readonly caBundle: string;
}

const VALIDITY_MS = 30 * 86_400_000;

/**
 * Creates a certificate for a server of the test, and an authority that signs nothing else. Valid for thirty days of real time.
 * @param names host names and addresses of the server: `localhost`, or `SERVICE.NAMESPACE.svc` for a Service
 * @throws TypeError without a name
 */
export async function servingCertificate(...names: readonly string[]): Promise<ServingCertificate> {
  const [commonName] = names;
  if (commonName === undefined)
    throw new TypeError("servingCertificate needs a name of the server, as in servingCertificate('hooks.system.svc')");
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
  try {
    const { crypto, random, clock } = platform;
    const deps = { crypto, random, nowMs: () => clock.nowMs() };
    const authority = await createAuthority(deps, `authority of ${commonName}`, VALIDITY_MS);
    const { certPem, keyPem } = await issueCertificate(deps, authority, {
      commonName,
      dnsNames: names.filter((name) => parseIp(name) === undefined),
      ipAddresses: names.filter((name) => parseIp(name) !== undefined),
      usages: ['server'],
      validityMs: VALIDITY_MS,
    });
    const ca = authority.certPem;
    return { cert: certPem, key: keyPem, ca, caBundle: Buffer.from(ca).toString('base64') };
  } finally {
    platform.close();
  }
}
