/** What every subject of the composition needs: dependencies, configuration and the node's identity. */
import type { Node } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';
import type { Log } from '../../platform/log.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import type { KubeletDeps } from '../kubelet-contract.ts';
import { createNodeIps } from '../node-status/node-ips.ts';
import { createLateBindings, type LateBindings } from './late-bindings.ts';

export interface KubeletContext {
  readonly deps: KubeletDeps;
  readonly config: KubeletConfiguration;
  readonly log: Log;
  readonly late: LateBindings;
  /** The Node object of this kubelet alone. */
  readonly nodeInformer: Informer<Node>;
  /** The node as the informer has it. */
  readonly ownNode: () => Node | undefined;
  /** Target of events about the node. */
  readonly nodeRef: EventTarget;
  readonly nodeIps: () => readonly string[];
}

export function createKubeletContext(deps: KubeletDeps, config: KubeletConfiguration): KubeletContext {
  const { nodeName } = config;
  const nodeInformer = deps.informers.informer(Nodes, { fieldSelector: `metadata.name=${nodeName}` });
  const ownNode = (): Node | undefined => nodeInformer.get({ name: nodeName });
  return {
    deps,
    config,
    log: deps.platform.log.child('kubelet'),
    late: createLateBindings(),
    nodeInformer,
    ownNode,
    nodeRef: { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeName },
    nodeIps: createNodeIps(deps.platform, config, ownNode),
  };
}
