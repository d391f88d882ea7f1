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
import { isNodeReady } from '../../component-helpers/nodes.ts';
import { createKeyedLoop, informerList, RetryLater, type Controller, type ControllerDeps } from '../controller.ts';
import { readPending } from './pending-requests.ts';
import { reservedNames } from './reserved-names.ts';
import { KUBELET_CLIENT, NODE_PREFIX } from './signer-rules.ts';
import { WaitingRequests } from './waiting-requests.ts';

const ACCOUNT = 'certificate-controller';
const NAME = 'certificatesigningrequest-approving-controller';

/** The rights that are looked for, and how messages name their certificates. */
const OF_OTHERS = [['nodeclient', 'kubelet']] as const;
const OF_ITSELF = [['selfnodeclient', 'self kubelet'], ...OF_OTHERS] as const;

export function createCsrApprovingController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT);
  const requests = deps.informers.informer(CertificateSigningRequests);
  const nodes = deps.informers.informer(Nodes);
  const { crypto } = deps.platform;
  const reader = { requests, signerName: KUBELET_CLIENT, reserved: reservedNames(deps.config), crypto };
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
    const pending = await readPending(reader, key);
    if (pending === undefined) return;
    const { csr, parsed } = pending;
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
    for (const [subresource, whose] of own ? OF_ITSELF : OF_OTHERS) {
      if (!(await mayHave(csr, subresource, signal))) continue;
      const message = `Auto approving ${whose} client certificate after SubjectAccessReview.`;
      const condition = { type: 'Approved', status: 'True', reason: 'AutoApproved', message };
      const status = { ...csr.status, conditions: [...(csr.status?.conditions ?? []), condition] };
      await client.resource(CertificateSigningRequests).update({ ...csr, status }, { subresource: 'approval', signal });
      return;
    }
    // A right may be given later, of which no event tells.
    throw new RetryLater(
      `recognized csr "${key}" as ${own ? '[selfnodeclient nodeclient]' : '[nodeclient]'} but subject access review was not approved`,
    );
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
