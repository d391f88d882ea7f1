/** Explains why a custom resource definition is not served. */
import { CustomResourceDefinitions } from '../../api/gen/resources.ts';
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { backendCauses } from '../requests/webhook-backend.ts';
import { appendAll } from '../../base/lists.ts';

/** Conditions, with the status that means trouble. */
const TROUBLES = [
  { type: 'NamesAccepted', status: 'False', cure: 'choose other names: another definition has them already' },
  { type: 'NonStructuralSchema', status: 'True', cure: 'make the schema structural, as the message says' },
  { type: 'KubernetesAPIApprovalPolicyConformant', status: 'False', cure: 'use another group: *.k8s.io is protected' },
  { type: 'Established', status: 'False', cure: 'mend what the other conditions name' },
  { type: 'Terminating', status: 'True', cure: 'see what keeps its objects: their finalizers' },
] as const;

export async function explainDefinition(definition: CustomResourceDefinition, evidence: Evidence): Promise<Diagnosis> {
  const causes: Cause[] = [];
  for (const { type, status, cure } of TROUBLES) {
    const condition = conditionOf(definition, type);
    if (condition?.status !== status) continue;
    // A false `Established` is a consequence of the other conditions.
    if (type === 'Established' && causes.length > 0) continue;
    const because = type === 'NamesAccepted' ? await rivalCauses(definition, evidence) : [];
    causes.push({ ...conditionCause(CustomResourceDefinitions, definition, condition), cure: { text: cure }, because });
  }
  appendAll(causes, await conversionCauses(definition, evidence));
  const served = (definition.spec?.versions ?? []).filter(({ served: isServed }) => isServed).map(({ name }) => name);
  const isServed = conditionOf(definition, 'Established')?.status === 'True';
  const summary = isServed ? `is served in ${served.join(', ')}` : 'is not served';
  const state = causes.length > 0 ? 'Trouble' : isServed ? 'Fine' : 'Progressing';
  return { state, summary, causes };
}

/** Definitions of the same group that already have one of its names. */
async function rivalCauses(definition: CustomResourceDefinition, evidence: Evidence): Promise<readonly Cause[]> {
  const wanted = new Set(namesOf(definition.spec?.names));
  const rivals = (await evidence.list(CustomResourceDefinitions)).filter(
    ({ metadata, spec }) => metadata.name !== definition.metadata.name && spec?.group === definition.spec?.group,
  );
  return rivals.flatMap((other) => {
    const taken = [...new Set(namesOf(other.status?.acceptedNames))].filter((name) => wanted.has(name));
    if (taken.length === 0) return [];
    return [
      cause({
        code: 'NameTaken',
        object: nameOfObject(CustomResourceDefinitions, other),
        message: `definition ${other.metadata.name} of the same group has the names ${taken.join(', ')}`,
        cure: { text: 'choose other names, or delete that definition with its objects', command: 'kubectl get crd' },
      }),
    ];
  });
}

/** Plural, singular and short names must be unique together; kinds are unique among themselves. */
function namesOf(names: Partial<NonNullable<CustomResourceDefinition['spec']>['names']> | undefined): string[] {
  const {
    plural = '',
    singular = '',
    shortNames = [],
    kind = '',
    listKind = kind === '' ? '' : `${kind}List`,
  } = names ?? {};
  return [plural, singular, ...shortNames, kind, listKind].filter((name) => name !== '');
}

/** Objects are stored in one version, so reads and writes of all other versions need the conversion webhook. */
async function conversionCauses(definition: CustomResourceDefinition, evidence: Evidence): Promise<readonly Cause[]> {
  const { strategy, webhook } = definition.spec?.conversion ?? {};
  if (strategy !== 'Webhook') return [];
  const because = await backendCauses(webhook?.clientConfig?.service, evidence);
  if (because.length === 0) return [];
  const stored = definition.spec?.versions?.find(({ storage }) => storage)?.name;
  return [
    cause({
      code: 'ConversionFails',
      object: nameOfObject(CustomResourceDefinitions, definition),
      message: `its conversion webhook has no server: its objects can be read and written in version ${stored} alone`,
      because,
    }),
  ];
}
