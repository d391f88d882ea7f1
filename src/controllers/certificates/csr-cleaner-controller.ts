/**
 * Deletes old certificate requests: one hour after they were issued, denied or failed, one day after their creation
 * if nobody decided on them. Upstream: pkg/controller/certificates/cleaner.
 */
import { CertificateSigningRequests } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { parseTime } from '../../api/time.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import { informerList, runPeriodically, type Controller, type ControllerDeps } from '../controller.ts';

const ACCOUNT = 'certificate-controller';
const NAME = 'certificatesigningrequest-cleaner-controller';
const PERIOD_MS = 60 * 60_000;
const DECIDED_MS = 60 * 60_000;
const PENDING_MS = 24 * 60 * 60_000;

/** Whether the request is old enough to be deleted. */
function isOld({ metadata, status }: CertificateSigningRequest, nowMs: number): boolean {
  const conditions = status?.conditions ?? [];
  const issued = (status?.certificate ?? '') !== '';
  if (nowMs - parseTime(metadata.creationTimestamp) > PENDING_MS && !issued) return true;
  return conditions.some(({ type, lastUpdateTime }) => {
    const counts = type === 'Denied' || type === 'Failed' || (type === 'Approved' && issued);
    return counts && nowMs - parseTime(lastUpdateTime) > DECIDED_MS;
  });
}

export function createCsrCleanerController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT).resource(CertificateSigningRequests);
  const requests = deps.informers.informer(CertificateSigningRequests);
  async function round(signal: AbortSignal): Promise<void> {
    for (const csr of requests.list()) {
      if (!isOld(csr, deps.platform.clock.nowMs())) continue;
      await client.delete({ name: csr.metadata.name }, { signal }).catch(ignoreNotFound);
    }
  }
  return {
    name: NAME,
    async start(signal) {
      await runPeriodically(
        deps,
        { name: NAME, periodMs: PERIOD_MS, informers: informerList(requests), round },
        signal,
      );
    },
  };
}
