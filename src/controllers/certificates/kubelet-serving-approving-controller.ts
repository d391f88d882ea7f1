/**
 * Approves the serving certificates of kubelets. Upstream leaves these to people or add-ons; until then logs and exec
 * on a new machine would fail. A node gets a certificate for its own name and for addresses of its Node object,
 * unless another node or the API server has them too. The signer refuses reserved names (`reserved-names.ts`),
 * whoever approved the request.
 *
 * Watches: CertificateSigningRequests, Nodes, the `kubernetes` EndpointSlice. Writes alone: the Approved condition
 * with reason AutoApproved of requests to kubernetes.io/kubelet-serving.
 */
import { CertificateSigningRequests, EndpointSlices, Nodes } from '../../api/gen/resources.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import type { Node } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { parseKey } from '../../client/object-store.ts';
import { parseRequest, type ParsedRequest } from '../../component-helpers/pki/certificates.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { reservedNames } from './reserved-names.ts';
import { WaitingRequests } from './waiting-requests.ts';
import { isPending, KUBELET_SERVING, NODE_PREFIX, signerProblem } from './signer-rules.ts';

const ACCOUNT = 'certificate-controller';
const NAME = 'kubelet-serving-certificate-approving-controller';
const ELSEWHERE = 'belongs to another machine too';
/** What a request waits for whose address another node has. */
const ANY_NODE = '';

/**
 * Why the node may not have the certificate; undefined when it may. `serverAddresses`: addresses of API servers.
 * Pure.
 */
export function servingProblem(
  { spec }: CertificateSigningRequest,
  request: ParsedRequest,
  { nodes, serverAddresses }: { readonly nodes: readonly Node[]; readonly serverAddresses: ReadonlySet<string> },
): string | undefined {
  if (spec.username !== request.commonName || !request.commonName.startsWith(NODE_PREFIX))
    return 'the subject is not the node that asks';
  const name = request.commonName.slice(NODE_PREFIX.length);
  const own = nodes.find((node) => node.metadata.name === name);
  if (own === undefined) return 'the node has not registered yet';
  if (request.dnsNames.some((dnsName) => dnsName !== name)) return 'it asks for names that are not the node’s';
  const addresses = addressesOf(own);
  const foreign = request.ipAddresses.find((ip) => !addresses.has(ip));
  if (foreign !== undefined) return `${foreign} is not among the node's addresses`;
  const others = new Set(nodes.filter((node) => node !== own).flatMap((node) => [...addressesOf(node)]));
  const shared = request.ipAddresses.find((ip) => serverAddresses.has(ip) || others.has(ip));
  return shared === undefined ? undefined : `${shared} ${ELSEWHERE}`;
}

function addressesOf(node: Node): Set<string> {
  return new Set((node.status?.addresses ?? []).map(({ address }) => address));
}

export function createKubeletServingApprovingController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT);
  const requests = deps.informers.informer(CertificateSigningRequests);
  const nodes = deps.informers.informer(Nodes);
  const slices = deps.informers.informer(EndpointSlices);
  const reserved = reservedNames(deps.config);
  const log = deps.platform.log.child(NAME);
  const waiting = new WaitingRequests();
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'kubelet_serving_approving',
    workers: 1,
    informers: [...informerList(requests), ...informerList(nodes), ...informerList(slices)],
    sync: handleCsr,
  });

  async function handleCsr(key: string, signal: AbortSignal): Promise<void> {
    const csr = requests.get(parseKey(key));
    if (csr === undefined || !isOpen(csr)) return;
    const pem = Buffer.from(csr.spec.request, 'base64').toString('utf8');
    const parsed = await parseRequest(deps.platform.crypto, pem).catch(() => undefined);
    if (parsed === undefined || signerProblem(csr, parsed, reserved) !== undefined) return; // people decide on it
    const problem = servingProblem(csr, parsed, { nodes: nodes.list(), serverAddresses: serverAddresses() });
    if (problem !== undefined) {
      waiting.add(key, problem.endsWith(ELSEWHERE) ? ANY_NODE : parsed.commonName.slice(NODE_PREFIX.length));
      log.info('a serving certificate waits', { csr: key, user: csr.spec.username, problem });
      return;
    }
    const condition = {
      type: 'Approved',
      status: 'True',
      reason: 'AutoApproved',
      message: "Auto approving the node's serving certificate: name and addresses are its own.",
    };
    const status = { ...csr.status, conditions: [...(csr.status?.conditions ?? []), condition] };
    await client.resource(CertificateSigningRequests).update({ ...csr, status }, { subresource: 'approval', signal });
  }

  function serverAddresses(): Set<string> {
    const slice = slices.get({ namespace: 'default', name: 'kubernetes' });
    return new Set((slice?.endpoints ?? []).flatMap(({ addresses }) => addresses));
  }

  const enqueue = (csr: Stored<CertificateSigningRequest>): void => loop.queue.add(csr.metadata.name);
  requests.addHandler({
    onAdd: enqueue,
    onUpdate: (_, csr) => enqueue(csr),
    onDelete: ({ metadata }) => waiting.delete(metadata.name),
  });
  // A node that registers or reports its addresses may have a pending request, or give up an address that another asks for.
  const again = ({ metadata }: Stored<Node>): void =>
    [metadata.name, ANY_NODE].flatMap((name) => waiting.takeOf(name)).forEach((name) => loop.queue.add(name));
  nodes.addHandler({
    onAdd: again,
    onUpdate: (old, node) => {
      if ([...addressesOf(node)].join() !== [...addressesOf(old)].join()) again(node);
    },
  });
  return loop;
}

function isOpen(csr: CertificateSigningRequest): boolean {
  return csr.spec.signerName === KUBELET_SERVING && isPending(csr);
}
