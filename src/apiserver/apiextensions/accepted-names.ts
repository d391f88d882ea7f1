/**
 * Decides which of its names a custom resource definition may use: those that no other definition of its group has.
 * Pure. Upstream: apiextensions-apiserver/pkg/controller/status/naming_controller.go.
 */
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '../../api/gen/apiextensions-v1.ts';
import { conditionOf, type ConditionState } from './conditions.ts';

/** The accepted names and their conditions. */
export interface NamesVerdict {
  readonly names: CustomResourceDefinitionNames;
  readonly condition: ConditionState;
}

interface UsedNames {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

function usedNames(others: readonly CustomResourceDefinition[]): UsedNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { status } of others) {
    const { plural = '', singular = '', shortNames = [], kind = '', listKind = '' } = status?.acceptedNames ?? {};
    for (const name of [plural, singular, ...shortNames]) if (name !== '') resources.add(name);
    for (const name of [kind, listKind]) if (name !== '') kinds.add(name);
  }
  return { resources, kinds };
}

function inUse(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

/** Decides which names of a definition are accepted. `others`: the group's other definitions. */
export function acceptNames(
  definition: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): NamesVerdict {
  const { names: wanted } = definition.spec;
  const { resources, kinds } = usedNames(others);
  const accepted = definition.status?.acceptedNames;
  const names: CustomResourceDefinitionNames = {
    ...accepted,
    plural: accepted?.plural ?? '',
    kind: accepted?.kind ?? '',
  };
  let refusal: { reason: string; message: string } | undefined;
  const take = (field: 'plural' | 'singular' | 'kind' | 'listKind', reason: string): void => {
    const name = wanted[field] ?? '';
    const used = field === 'kind' || field === 'listKind' ? kinds : resources;
    if (name !== (accepted?.[field] ?? '') && used.has(name)) refusal = { reason, message: inUse(name) };
    else names[field] = name;
  };
  take('plural', 'PluralConflict');
  take('singular', 'SingularConflict');
  const ours = new Set(accepted?.shortNames);
  const taken = (wanted.shortNames ?? []).filter((name) => !ours.has(name) && resources.has(name)).map(inUse);
  if (taken.length === 0) setList(names, 'shortNames', wanted.shortNames);
  else refusal = { reason: 'ShortNamesConflict', message: taken.length === 1 ? taken[0]! : `[${taken.join(', ')}]` };
  take('kind', 'KindConflict');
  take('listKind', 'ListKindConflict');
  setList(names, 'categories', wanted.categories);
  const condition: ConditionState =
    refusal === undefined
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { type: 'NamesAccepted', status: 'False', ...refusal };
  return { names, condition };
}

function setList(
  names: CustomResourceDefinitionNames,
  field: 'shortNames' | 'categories',
  values: string[] | undefined,
): void {
  if (values === undefined || values.length === 0) delete names[field];
  else names[field] = values;
}

/** The Established condition that follows from the names alone; an established definition stays established. */
export function establishedBefore(definition: CustomResourceDefinition, namesAccepted: boolean): ConditionState {
  const old = conditionOf(definition, 'Established');
  if (old?.status === 'True') return old;
  return namesAccepted
    ? {
        type: 'Established',
        status: 'True',
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      }
    : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
}
