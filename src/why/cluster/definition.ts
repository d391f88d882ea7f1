/** Why a custom resource definition is not served. */
import { CustomResourceDefinitions } from '../../api/gen/resources.ts';
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import type { Cause, Diagnosis } from '../explanation.ts';

/** By condition, and the status that means trouble. */
const TROUBLES = [
  { type: 'NamesAccepted', status: 'False', cure: 'choose other names: another definition has them already' },
  { type: 'NonStructuralSchema', status: 'True', cure: 'make the schema structural, as the message says' },
  { type: 'KubernetesAPIApprovalPolicyConformant', status: 'False', cure: 'use another group: *.k8s.io is protected' },
  { type: 'Established', status: 'False', cure: 'mend what the other conditions name' },
  { type: 'Terminating', status: 'True', cure: 'see what keeps its objects: their finalizers' },
] as const;

export async function explainDefinition(definition: CustomResourceDefinition, _evidence: Evidence): Promise<Diagnosis> {
  const causes = TROUBLES.flatMap(({ type, status, cure }): Cause[] => {
    const condition = conditionOf(definition, type);
    if (condition?.status !== status) return [];
    return [{ ...conditionCause(CustomResourceDefinitions, definition, condition), cure: { text: cure } }];
  });
  const served = (definition.spec?.versions ?? []).filter(({ served: isServed }) => isServed).map(({ name }) => name);
  const isServed = conditionOf(definition, 'Established')?.status === 'True';
  const summary = isServed ? `is served in ${served.join(', ')}` : 'is not served';
  const state = causes.length > 0 ? 'Trouble' : isServed ? 'Fine' : 'Progressing';
  return { state, summary, causes };
}
