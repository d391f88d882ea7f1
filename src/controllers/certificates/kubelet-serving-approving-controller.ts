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
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { Node } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { ParsedRequest } from '../../component-helpers/pki/certificates.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { readPending } from './pending-requests.ts';
import { reservedNames } from './reserved-names.ts';
import { KUBELET_SERVING, NODE_PREFIX } from './signer-rules.ts';
import { WaitingRequests } from './waiting-requests.ts';

const ACCOUNT = 'certificate-controller';
const NAME = 'kubelet-serving-certificate-approving-controller';
/** The slice with the addresses of the API servers. */
const SERVERS = { namespace: 'default', name: 'kubernetes' };
/** What a request waits for whose address another machine has. */
const ANY_ADDRESS = '';

/** Why a node may not have a certificate, and whose change may end that: a node's name; undefined: nothing does. */
interface ServingProblem {
  readonly text: string;
  readonly waitsFor?: string;
}

/**
 * Why the node may not have the certificate; undefined when it may. `serverAddresses`: addresses of API servers.
 * Pure.
 */
export function servingProblem(
  { spec }: CertificateSigningRequest,
  request: ParsedRequest,
  { nodes, serverAddresses }: { readonly nodes: readonly Node[]; readonly serverAddresses: ReadonlySet<string> },
): ServingProblem | undefined {
  if (spec.username !== request.commonName || !request.commonName.startsWith(NODE_PREFIX))
    return { text: 'the subject is not the node that asks' };
  const name = request.commonName.slice(NODE_PREFIX.length);
  const own = nodes.find((node) => node.metadata.name === name);
  if (request.dnsNames.some((dnsName) => dnsName !== name))
    return { text: 'it asks for names that are not the node’s' };
  if (own === undefined) return { text: 'the node has not registered yet', waitsFor: name };
  const addresses = addressesOf(own);
  const foreign = request.ipAddresses.find((ip) => !addresses.has(ip));
  if (foreign !== undefined) return { text: `${foreign} is not among the node's addresses`, waitsFor: name };
  const others = new Set(nodes.filter((node) => node !== own).flatMap((node) => [...addressesOf(node)]));
  const shared = request.ipAddresses.find((ip) => serverAddresses.has(ip) || others.has(ip));
  return shared === undefined ? undefined : { text: `${shared} belongs to another machine too`, waitsFor: ANY_ADDRESS };
}

function addressesOf(node: Node): Set<string> {
  return new Set((node.status?.addresses ?? []).map(({ address }) => address));
}

export function createKubeletServingApprovingController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT);
  const requests = deps.informers.informer(CertificateSigningRequests);
  const nodes = deps.informers.informer(Nodes);
  const slices = deps.informers.informer(EndpointSlices);
  const { crypto } = deps.platform;
  const reader = { requests, signerName: KUBELET_SERVING, reserved: reservedNames(deps.config), crypto };
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
    const pending = await readPending(reader, key);
    if (pending === undefined) return;
    const { csr, parsed } = pending;
    const problem = servingProblem(csr, parsed, { nodes: nodes.list(), serverAddresses: serverAddresses() });
    if (problem !== undefined) {
      if (problem.waitsFor !== undefined) waiting.add(key, problem.waitsFor);
      const message = `a serving certificate ${problem.waitsFor === undefined ? 'is left to people' : 'waits'}`;
      log.info(message, { csr: key, user: csr.spec.username, problem: problem.text });
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
    const slice = slices.get(SERVERS);
    return new Set((slice?.endpoints ?? []).flatMap(({ addresses }) => addresses));
  }

  const enqueue = (csr: Stored<CertificateSigningRequest>): void => loop.queue.add(csr.metadata.name);
  requests.addHandler({
    onAdd: enqueue,
    onUpdate: (_, csr) => enqueue(csr),
    onDelete: ({ metadata }) => waiting.delete(metadata.name),
  });
  const again = (...waitedFor: string[]): void =>
    waitedFor.flatMap((name) => waiting.takeOf(name)).forEach((name) => loop.queue.add(name));
  // A node that registers, changes its addresses or is gone may have a pending request, or give up an address that
  // another asks for.
  const nodeChanged = ({ metadata }: Stored<Node>): void => again(metadata.name, ANY_ADDRESS);
  nodes.addHandler({
    onAdd: nodeChanged,
    onUpdate: (old, node) => {
      if ([...addressesOf(node)].join() !== [...addressesOf(old)].join()) nodeChanged(node);
    },
    onDelete: nodeChanged,
  });
  const sliceChanged = ({ metadata }: Stored<EndpointSlice>): void => {
    if (metadata.namespace === SERVERS.namespace && metadata.name === SERVERS.name) again(ANY_ADDRESS);
  };
  slices.addHandler({ onAdd: sliceChanged, onUpdate: (_, slice) => sliceChanged(slice), onDelete: sliceChanged });
  return loop;
}
