/** The nodes resource. Upstream: registry/core/node. */
import { setNodeDefaults } from '../../../../api/defaults/core.ts';
import type { Node } from '../../../../api/gen/core-v1.ts';
import { Nodes } from '../../../../api/gen/resources.ts';
import { validateNode, validateNodeStatusUpdate, validateNodeUpdate } from '../../../../api/validation/node.ts';
import { nodeWarnings } from '../../../../api/warnings/network.ts';
import { defineResource } from '../../define-resource.ts';
import { nodeProxySubresource } from '../../kubelet-connect.ts';
import { keepStatus, type KindRules } from '../../kind-strategy.ts';
import type { ResourceDefinition } from '../../resource-definition.ts';
import type { RegistryServices } from '../../services.ts';
import { nodePrinter } from './table.ts';

const rules: KindRules<Node> = {
  defaults: setNodeDefaults,
  // A registering kubelet sends the status too.
  prepareForUpdate: keepStatus,
  validate: validateNode,
  validateUpdate: validateNodeUpdate,
  warnings: nodeWarnings,
};

export function nodeDefinition({ objects, kubeletConnector, authorizer }: RegistryServices): ResourceDefinition {
  return defineResource(Nodes, {
    rules,
    statusRules: { validateUpdate: validateNodeStatusUpdate },
    prefix: 'minions',
    printer: nodePrinter,
    selectableFields: ({ spec }) => ({ 'spec.unschedulable': String(spec?.unschedulable ?? false) }),
    connectSubresources: kubeletConnector && { proxy: nodeProxySubresource(objects, kubeletConnector, authorizer) },
  });
}
