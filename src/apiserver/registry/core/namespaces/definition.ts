/**
 * Namespaces: a delete only marks them Terminating; they are removed when the namespace controller has emptied
 * spec.finalizers through `finalize`. Upstream: registry/core/namespace.
 */
import { setNamespaceDefaults } from '../../../../api/defaults/core.ts';
import type { Namespace } from '../../../../api/gen/core-v1.ts';
import { Namespaces } from '../../../../api/gen/resources.ts';
import { nameIsDnsLabel } from '../../../../api/name-checks.ts';
import { validateNamespaceSpec, validateNamespaceStatusUpdate } from '../../../../api/validation/core-small.ts';
import { defineResource } from '../../define-resource.ts';
import { keepAllBut, kindStrategy, statusStrategy, type KindRules } from '../../kind-strategy.ts';
import type { ResourceDefinition, Strategy } from '../../resource-definition.ts';
import { namespacePrinter } from '../tables.ts';

const FINALIZER = 'kubernetes';

const rules: KindRules<Namespace> = {
  emptyStatus: { phase: 'Active' },
  validateName: nameIsDnsLabel,
  defaults: setNamespaceDefaults,
  prepareForCreate(draft) {
    const finalizers = draft.spec?.finalizers ?? [];
    draft.spec = {
      ...draft.spec,
      finalizers: finalizers.includes(FINALIZER) ? finalizers : [...finalizers, FINALIZER],
    };
  },
  prepareForUpdate(draft, old) {
    draft.spec = { ...draft.spec, ...(old.spec?.finalizers === undefined ? {} : { finalizers: old.spec.finalizers }) };
  },
  validate: validateNamespaceSpec,
};

function blocksDeletion(namespace: Namespace): boolean {
  return (namespace.spec?.finalizers ?? []).length > 0;
}

/** Sets deletionTimestamp and the phase; the removal waits for the finalizers (`blocksDeletion`). */
function terminate(namespace: Namespace): number {
  namespace.status = { ...namespace.status, phase: 'Terminating' };
  return 0;
}

const strategy: Strategy<Namespace> = {
  ...kindStrategy(rules),
  blocksDeletion,
  gracefulDeletionSeconds: terminate,
  deletesWithoutPeriod: true,
};

const finalizeStrategy: Strategy<Namespace> = {
  ...strategy,
  prepareForUpdate(draft, old) {
    const finalizers = draft.spec?.finalizers;
    keepAllBut(draft, old, 'spec');
    draft.spec = { ...old.spec, finalizers: finalizers ?? [] };
    if ((finalizers ?? []).length === 0) delete draft.spec.finalizers;
  },
};

export function namespaceDefinition(): ResourceDefinition {
  return defineResource(Namespaces, {
    rules,
    strategy,
    printer: namespacePrinter,
    selectableFields: ({ status }) => ({ 'status.phase': status?.phase ?? '' }),
    objectSubresources: {
      finalize: { strategy: finalizeStrategy },
      status: {
        strategy: { ...statusStrategy(rules, { validateUpdate: validateNamespaceStatusUpdate }), blocksDeletion },
      },
    },
  });
}
