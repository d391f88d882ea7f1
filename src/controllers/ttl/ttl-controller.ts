/**
 * Annotates nodes with how long their kubelet may cache secrets and config maps: longer in larger clusters. Upstream:
 * pkg/controller/ttl.
 *
 * Watches: nodes. Writes: the annotation `node.alpha.kubernetes.io/ttl`. Our kubelet watches what its pods use and
 * does not read it; other kubelets and tools do. The size bands overlap, so that a cluster at a boundary does not
 * change all nodes with each node that is added or deleted; a node gets a new value at its next event.
 */
import type { Node } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import type { Stored } from '../../api/object.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';

const NAME = 'ttl-controller';
const ANNOTATION = 'node.alpha.kubernetes.io/ttl';
const WORKERS = 5;

/** Numbers of nodes, and the seconds for each. */
const BANDS: readonly { readonly min: number; readonly max: number; readonly seconds: number }[] = [
  { min: 0, max: 100, seconds: 0 },
  { min: 90, max: 500, seconds: 15 },
  { min: 450, max: 1000, seconds: 30 },
  { min: 900, max: 2000, seconds: 60 },
  { min: 1800, max: Infinity, seconds: 300 },
];

/** The band after the number of nodes has changed by one. Pure. */
export function nextBand(band: number, nodeCount: number): number {
  if (nodeCount > (BANDS[band]?.max ?? Infinity)) return band + 1;
  return nodeCount < (BANDS[band]?.min ?? 0) ? band - 1 : band;
}

export function secondsOfBand(band: number): number {
  return BANDS[band]?.seconds ?? 0;
}

export function createTtlController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(NAME).resource(Nodes);
  const nodes = deps.informers.informer(Nodes);
  let nodeCount = 0;
  let band = 0;
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'ttlcontroller',
    workers: WORKERS,
    informers: informerList(nodes),
    async sync(name, signal) {
      const node = nodes.get({ name });
      const ttl = String(secondsOfBand(band));
      if (node === undefined || node.metadata.annotations?.[ANNOTATION] === ttl) return;
      const patch = { metadata: { annotations: { [ANNOTATION]: ttl } } };
      await client.patch({ name }, { type: 'strategic', patch }, { signal }).catch(ignoreNotFound);
    },
  });
  const changed = (by: 1 | -1): void => {
    nodeCount += by;
    band = nextBand(band, nodeCount);
  };
  const enqueue = ({ metadata }: Stored<Node>): void => loop.queue.add(metadata.name);
  nodes.addHandler({
    onAdd(node) {
      changed(1);
      enqueue(node);
    },
    onUpdate: (_, node) => enqueue(node),
    onDelete: () => changed(-1),
  });
  return loop;
}
