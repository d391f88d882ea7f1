/** Explains the state of a pod's node. */
import { Nodes } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOf, nameOfObject } from '../object-name.ts';

export async function nodeCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const name = pod.spec?.nodeName ?? '';
  const { object: node, missing } = await evidence.get(Nodes, { name });
  if (missing)
    return [
      cause({
        code: 'NodeGone',
        object: nameOf(Nodes, { name }),
        message: `its node ${name} does not exist`,
        cure: { text: 'delete the pod, so that its owner creates another' },
      }),
    ];
  if (node === undefined || isNodeReady(node)) return [];
  return [
    cause({
      code: 'NodeNotReady',
      object: nameOfObject(Nodes, node),
      message: `its node ${name} is not ready`,
      because: await evidence.causesOf(Nodes, node),
    }),
  ];
}
