/**
 * Signs approved certificate requests of the built-in signers. Upstream: pkg/controller/certificates/signer.
 *
 * Watches: CertificateSigningRequests. Writes alone: the certificate of requests to its signers, and their Failed condition.
 * Does nothing without an authority in the configuration.
 */
import { CertificateSigningRequests } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import type { CertificateSigningRequest, CertificateSigningRequestStatus } from '../../api/gen/certificates-v1.ts';
import type { Stored } from '../../api/object.ts';
import { errorMessage } from '../../base/errors.ts';
import { parseKey } from '../../client/object-store.ts';
import {
  parseRequest,
  signRequest,
  type KeyPairPem,
  type ParsedRequest,
} from '../../component-helpers/pki/certificates.ts';
import { isConditionTrue } from '../../component-helpers/conditions.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { reservedNames } from './reserved-names.ts';
import { BUILT_IN_SIGNERS, extendedUsages, isApproved, signerProblem } from './signer-rules.ts';

const ACCOUNT = 'certificate-controller';
const NAME = 'certificatesigningrequest-signing-controller';
const MAX_VALIDITY_MS = 365 * 86_400_000;
const MIN_VALIDITY_MS = 10 * 60_000;

export function createCsrSigningController(deps: ControllerDeps): Controller {
  const { clock, crypto, random } = deps.platform;
  const client = deps.clientFor(ACCOUNT).resource(CertificateSigningRequests);
  const requests = deps.informers.informer(CertificateSigningRequests);
  const authority = deps.config.clusterSigning;
  const reserved = reservedNames(deps.config);
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'csr_signing',
    workers: 1,
    informers: informerList(requests),
    sync: handleCsr,
  });

  async function handleCsr(key: string, signal: AbortSignal): Promise<void> {
    const csr = requests.get(parseKey(key));
    if (csr === undefined || authority === undefined || !isPending(csr)) return;
    await client.updateStatus({ ...csr, status: await sign(csr, authority) }, { signal });
  }

  async function sign(csr: CertificateSigningRequest, signer: KeyPairPem): Promise<CertificateSigningRequestStatus> {
    const pem = Buffer.from(csr.spec.request, 'base64').toString('utf8');
    let parsed: ParsedRequest;
    try {
      parsed = await parseRequest(crypto, pem);
    } catch (error) {
      return failed(csr, `unable to parse csr ${JSON.stringify(csr.metadata.name)}: ${errorMessage(error)}`);
    }
    const problem = signerProblem(csr, parsed, reserved);
    if (problem !== undefined) return failed(csr, problem);
    const { commonName, organizations, dnsNames, ipAddresses } = parsed;
    const spec = {
      commonName,
      organizations,
      dnsNames,
      ipAddresses,
      usages: extendedUsages(csr),
      validityMs: validityMs(csr),
    };
    const certPem = await signRequest({ crypto, random, nowMs: () => clock.nowMs() }, signer, { pem, spec });
    return { ...csr.status, certificate: Buffer.from(certPem).toString('base64') };
  }

  function failed(csr: CertificateSigningRequest, message: string): CertificateSigningRequestStatus {
    const condition = {
      type: 'Failed',
      status: 'True',
      reason: 'SignerValidationFailure',
      message,
      lastUpdateTime: formatTime(clock.nowMs()),
    };
    return { ...csr.status, conditions: [...(csr.status?.conditions ?? []), condition] };
  }

  const enqueue = (csr: Stored<CertificateSigningRequest>): void => loop.queue.add(csr.metadata.name);
  requests.addHandler({ onAdd: enqueue, onUpdate: (_, csr) => enqueue(csr) });
  return loop;
}

function isPending(csr: CertificateSigningRequest): boolean {
  return (
    BUILT_IN_SIGNERS.includes(csr.spec.signerName) &&
    isApproved(csr) &&
    !isConditionTrue(csr, 'Failed') &&
    (csr.status?.certificate ?? '') === ''
  );
}

function validityMs({ spec }: CertificateSigningRequest): number {
  if (spec.expirationSeconds === undefined) return MAX_VALIDITY_MS;
  return Math.min(MAX_VALIDITY_MS, Math.max(MIN_VALIDITY_MS, spec.expirationSeconds * 1000));
}
