/** The pods resource, and the bindings resource, the older way to assign pods. */
import type { Binding } from '../../../../api/gen/core-v1.ts';
import { Bindings, Pods } from '../../../../api/gen/resources.ts';
import { defineResource, defineVirtual } from '../../define-resource.ts';
import type { ResourceDefinition } from '../../resource-definition.ts';
import type { RegistryServices } from '../../services.ts';
import { bindPod } from './binding.ts';
import { podConnectSubresources } from '../../kubelet-connect.ts';
import { evictPod } from './eviction.ts';
import {
  podEphemeralContainersStrategy,
  podResizeStrategy,
  podSelectableFields,
  podStatusStrategy,
  podStrategy,
} from './strategy.ts';
import { podPrinter } from './table.ts';
import { podWhySubresource } from './why.ts';

/** Definitions of pods and bindings. */
export function podDefinitions({
  objects,
  platform,
  authorizer,
  kubeletConnector,
  explainPod,
}: RegistryServices): ResourceDefinition[] {
  const deps = { objects, clock: platform.clock };
  const connectSubresources = {
    ...(kubeletConnector === undefined ? {} : podConnectSubresources(objects, kubeletConnector, authorizer)),
    ...(explainPod === undefined ? {} : { why: podWhySubresource(objects, explainPod) }),
  };
  return [
    defineResource(Pods, {
      strategy: podStrategy,
      printer: podPrinter,
      selectableFields: podSelectableFields,
      objectSubresources: {
        status: { strategy: podStatusStrategy },
        ephemeralcontainers: { strategy: podEphemeralContainersStrategy },
        resize: { strategy: podResizeStrategy },
      },
      createSubresources: {
        binding: {
          create: ({ namespace, name, body, dryRun }) =>
            bindPod(deps, { namespace, name, binding: body as Binding, dryRun }),
        },
        eviction: { olderVersion: 'policy/v1beta1', create: (request) => evictPod(deps, request) },
      },
      connectSubresources: kubeletConnector === undefined && explainPod === undefined ? undefined : connectSubresources,
    }),
    defineVirtual(Bindings, {
      create: (draft, _context, namespace) =>
        bindPod(deps, { namespace, name: draft.metadata.name ?? '', binding: draft as Binding, dryRun: false }),
    }),
  ];
}
