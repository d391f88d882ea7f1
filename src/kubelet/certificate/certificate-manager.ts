/**
 * Keeps one certificate of a component: asks the API server for it by a CertificateSigningRequest, keeps it in
 * `<name>-current.pem` with its key, and asks again when 70 to 90 % of its life are over. Upstream: client-go
 * util/certificate.
 *
 * A request that is denied or fails is made anew after a pause; a certificate in hand is used until it ends.
 */
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import { CertificateSigningRequests } from '../../api/gen/resources.ts';
import type { Client } from '../../client/client.ts';
import type { Files } from '../../platform/files.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { createBackoff } from '../../base/backoff.ts';
import {
  certificateValidity,
  createRequest,
  type CertificateRequestSpec,
  type KeyPairPem,
} from '../../component-helpers/pki/certificates.ts';

const POLL_MS = 500;
const APPROVAL_TIMEOUT_MS = 15 * 60_000;

/** What the manager needs. */
export interface CertificateManagerDeps {
  readonly platform: BasePlatform & { readonly files: Files };
  /** Asks for the certificate: with the certificate in hand, or with the bootstrap credentials while there is none. */
  readonly client: (current: KeyPairPem | undefined) => Client;
}

/** Which certificate. */
export interface CertificateManagerConfig {
  readonly directory: string;
  /** Upstream's names: `kubelet-client`, `kubelet-server`. */
  readonly name: string;
  readonly signerName: string;
  readonly usages: readonly string[];
  /** Subject and names, read anew for each request. */
  readonly template: () => Pick<CertificateRequestSpec, 'commonName' | 'organizations' | 'dnsNames' | 'ipAddresses'>;
}

/** The manager. */
export interface CertificateManager {
  /** The certificate in hand; undefined before the first. */
  current(): KeyPairPem | undefined;
  /** Reads what an earlier run left, else takes the pair given; resolves to whether there is one that still holds. */
  load(given?: KeyPairPem): Promise<boolean>;
  /** Asks for a certificate now and keeps it. Rejects when it is denied, fails, or nobody approves in 15 minutes. */
  rotate(signal: AbortSignal): Promise<void>;
  /** Rotates in time until the signal aborts. `onChange` hears of each new certificate. */
  start(signal: AbortSignal, onChange?: (pair: KeyPairPem) => void): void;
}

/** Makes a manager; nothing is read before `load`. */
export function createCertificateManager(
  deps: CertificateManagerDeps,
  config: CertificateManagerConfig,
): CertificateManager {
  const { clock, crypto, files, random } = deps.platform;
  const log = deps.platform.log.child('certificate-manager');
  const path = `${config.directory}/${config.name}-current.pem`;
  let pair: KeyPairPem | undefined;
  let rotateAtMs = 0;

  async function take(given: KeyPairPem): Promise<boolean> {
    const { notBeforeMs, notAfterMs } = await certificateValidity(crypto, given.certPem);
    if (clock.nowMs() >= notAfterMs) return false;
    rotateAtMs = notBeforeMs + (notAfterMs - notBeforeMs) * (0.7 + 0.2 * random.next());
    pair = given;
    return true;
  }

  async function load(given?: KeyPairPem): Promise<boolean> {
    const kept = await readKept();
    if (kept !== undefined && (await take(kept))) return true;
    return given !== undefined && take(given);
  }

  async function readKept(): Promise<KeyPairPem | undefined> {
    if (!(await files.exists(path))) return undefined;
    const text = await files.readText(path);
    const [certPem = '', keyPem = ''] = ['CERTIFICATE', 'PRIVATE KEY'].map(
      (label) => new RegExp(`-----BEGIN ${label}-----[^]*?-----END ${label}-----\n?`).exec(text)?.[0] ?? '',
    );
    return certPem === '' || keyPem === '' ? undefined : { certPem, keyPem };
  }

  async function rotate(signal: AbortSignal): Promise<void> {
    const { requestPem, keyPem } = await createRequest(crypto, config.template());
    const requests = deps.client(pair).resource(CertificateSigningRequests);
    const made = await requests.create(
      {
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { generateName: 'csr-' },
        spec: {
          request: Buffer.from(requestPem).toString('base64'),
          signerName: config.signerName,
          usages: [...config.usages],
        },
      },
      { signal },
    );
    const deadlineMs = clock.monotonicMs() + APPROVAL_TIMEOUT_MS;
    const key = { name: made.metadata.name ?? '' };
    for (;;) {
      const certPem = issued(await requests.get(key, { signal }));
      if (certPem !== undefined) {
        await files.makeDir(config.directory, { mode: 0o700 });
        await files.writeFileAtomic(path, `${certPem.trim()}\n${keyPem}`, { mode: 0o600 });
        await take({ certPem, keyPem });
        return;
      }
      if (clock.monotonicMs() >= deadlineMs)
        throw new Error(`certificate request ${key.name} was not approved in time`);
      await clock.sleep(POLL_MS, signal);
    }
  }

  async function run(signal: AbortSignal, onChange: ((pair: KeyPairPem) => void) | undefined): Promise<void> {
    const backoff = createBackoff({ initialMs: 2_000, maxMs: 128_000 });
    while (!signal.aborted) {
      const waitMs = pair === undefined ? 0 : Math.max(0, rotateAtMs - clock.nowMs());
      await clock.sleep(waitMs, signal);
      try {
        await rotate(signal);
        backoff.reset();
        if (pair !== undefined) onChange?.(pair);
      } catch (error) {
        if (signal.aborted) return;
        log.error('Certificate request failed', { name: config.name, err: error });
        await clock.sleep(backoff.nextMs(), signal);
      }
    }
  }

  return {
    current: () => pair,
    load,
    rotate,
    start: (signal, onChange) => void run(signal, onChange).catch(() => undefined), // It ends by the signal alone.
  };
}

/** The certificate of an answered request; undefined while it waits. */
function issued({ metadata, status }: CertificateSigningRequest): string | undefined {
  const bad = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
  if (bad !== undefined)
    throw new Error(`certificate request ${metadata.name} is ${bad.type}: ${bad.reason} ${bad.message ?? ''}`.trim());
  if (status?.certificate === undefined || status.certificate === '') return undefined;
  return Buffer.from(status.certificate, 'base64').toString('utf8');
}
