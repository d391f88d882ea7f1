/**
 * Approves kubelets' client certificates for those who may have them. Upstream: pkg/controller/certificates/approver.
 *
 * Watches: CertificateSigningRequests. Writes alone: the Approved condition with reason AutoApproved.
 */
import { CertificateSigningRequests, SubjectAccessReviews } from '../../api/gen/resources.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import { parseKey } from '../../client/object-store.ts';
import { parseRequest } from '../../component-helpers/pki/certificates.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { hasCondition, KUBELET_CLIENT, signerProblem } from './signer-rules.ts';

const ACCOUNT = 'certificate-controller';
const NAME = 'certificatesigningrequest-approving-controller';

/** Makes the controller. */
export function createCsrApprovingController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT);
  const requests = deps.informers.informer(CertificateSigningRequests);
  const log = deps.platform.log.child(NAME);
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'csr_approving',
    workers: 1,
    informers: informerList(requests),
    sync,
  });

  async function sync(key: string, signal: AbortSignal): Promise<void> {
    const csr = requests.get(parseKey(key));
    if (csr === undefined || csr.spec.signerName !== KUBELET_CLIENT || (csr.status?.certificate ?? '') !== '') return;
    if (hasCondition(csr, 'Approved') || hasCondition(csr, 'Denied')) return;
    const parsed = await parseRequest(
      deps.platform.crypto,
      Buffer.from(csr.spec.request, 'base64').toString('utf8'),
    ).catch(() => undefined);
    // What cannot be read, or is no kubelet's request, is for people to judge.
    if (parsed === undefined || signerProblem(csr, parsed) !== undefined) return;
    const own = parsed.commonName === csr.spec.username;
    for (const [subresource, whose] of [
      ...(own ? [['selfnodeclient', 'self kubelet']] : []),
      ['nodeclient', 'kubelet'],
    ] as const) {
      if (!(await mayHave(csr, subresource ?? '', signal))) continue;
      const message = `Auto approving ${whose} client certificate after SubjectAccessReview.`;
      const condition = { type: 'Approved', status: 'True', reason: 'AutoApproved', message };
      const status = { ...csr.status, conditions: [...(csr.status?.conditions ?? []), condition] };
      await client.resource(CertificateSigningRequests).update({ ...csr, status }, { subresource: 'approval', signal });
      return;
    }
    log.info('recognized kubelet request is not permitted', { csr: key, user: csr.spec.username });
  }

  async function mayHave(
    { spec }: CertificateSigningRequest,
    subresource: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const resourceAttributes = {
      group: 'certificates.k8s.io',
      resource: 'certificatesigningrequests',
      verb: 'create',
      subresource,
      version: '*',
    };
    const { username: user = '', uid, groups = [], extra } = spec;
    const review = {
      metadata: {},
      spec: {
        user,
        groups,
        ...(uid === undefined ? {} : { uid }),
        ...(extra === undefined ? {} : { extra }),
        resourceAttributes,
      },
    };
    const { status } = await client.resource(SubjectAccessReviews).create(review, { signal });
    return status?.allowed === true;
  }

  const enqueue = (csr: CertificateSigningRequest): void => loop.queue.add(csr.metadata.name ?? '');
  requests.addHandler({ onAdd: enqueue, onUpdate: (_, csr) => enqueue(csr) });
  return loop;
}
