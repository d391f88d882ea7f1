/**
 * Approves kubelets' client certificates for users who may have them. Upstream: pkg/controller/certificates/approver.
 *
 * Differs: while a node is Ready, only the node itself gets a certificate for its name. Any other request waits until
 * the node is gone or not Ready, or for a person's approval. With upstream's rule anybody with a bootstrap token
 * could become any node.
 *
 * Watches: CertificateSigningRequests, Nodes. Writes alone: the Approved condition with reason AutoApproved.
 */
import { CertificateSigningRequests, Nodes, SubjectAccessReviews } from '../../api/gen/resources.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import type { Node } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { parseKey } from '../../client/object-store.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import { parseRequest } from '../../component-helpers/pki/certificates.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { reservedNames } from './reserved-names.ts';
import { WaitingRequests } from './waiting-requests.ts';
import { isPending, KUBELET_CLIENT, NODE_PREFIX, signerProblem } from './signer-rules.ts';

const ACCOUNT = 'certificate-controller';
const NAME = 'certificatesigningrequest-approving-controller';

export function createCsrApprovingController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT);
  const requests = deps.informers.informer(CertificateSigningRequests);
  const nodes = deps.informers.informer(Nodes);
  const reserved = reservedNames(deps.config);
  const log = deps.platform.log.child(NAME);
  const waiting = new WaitingRequests();
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'csr_approving',
    workers: 1,
    informers: [...informerList(requests), ...informerList(nodes)],
    sync: handleCsr,
  });

  async function handleCsr(key: string, signal: AbortSignal): Promise<void> {
    const csr = requests.get(parseKey(key));
    if (csr === undefined || !isOpen(csr)) return;
    const parsed = await parseRequest(
      deps.platform.crypto,
      Buffer.from(csr.spec.request, 'base64').toString('utf8'),
    ).catch(() => undefined);
    // Requests that cannot be parsed, or are not a kubelet's, are left to people.
    if (parsed === undefined || signerProblem(csr, parsed, reserved) !== undefined) return;
    const own = parsed.commonName === csr.spec.username;
    const name = parsed.commonName.slice(NODE_PREFIX.length);
    if (!own && isNodeReady(nodes.get({ name }))) {
      waiting.add(key, name);
      log.info('a request for the name of a node that is Ready waits', {
        csr: key,
        user: csr.spec.username,
        node: name,
      });
      return;
    }
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

  const enqueue = (csr: Stored<CertificateSigningRequest>): void => loop.queue.add(csr.metadata.name);
  requests.addHandler({
    onAdd: enqueue,
    onUpdate: (_, csr) => enqueue(csr),
    onDelete: ({ metadata }) => waiting.delete(metadata.name),
  });
  const again = ({ metadata }: Stored<Node>): void =>
    waiting.takeOf(metadata.name).forEach((name) => loop.queue.add(name));
  nodes.addHandler({
    onUpdate: (old, node) => {
      if (isNodeReady(old) && !isNodeReady(node)) again(node);
    },
    onDelete: again,
  });
  return loop;
}

function isOpen(csr: CertificateSigningRequest): boolean {
  return csr.spec.signerName === KUBELET_CLIENT && isPending(csr);
}
