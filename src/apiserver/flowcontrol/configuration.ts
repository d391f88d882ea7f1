/**
 * Flow schemas and priority levels as they are in force: in the order they are tried, the mandatory ones always there,
 * schemas whose level is missing left out. Upstream: apf_controller.go, digestConfigObjects.
 */
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/gen/flowcontrol-v1.ts';
import { bootstrapFlowSchemas, bootstrapPriorityLevels, MANDATORY_FLOW_OBJECTS } from '../bootstrap/objects.ts';

/** Upstream's mandatory objects, as a new cluster has them. */
const mandatorySchemas: readonly FlowSchema[] = bootstrapFlowSchemas().filter(isMandatory);
const mandatoryLevels: readonly PriorityLevelConfiguration[] = bootstrapPriorityLevels().filter(isMandatory);

function isMandatory({ metadata }: { readonly metadata: { readonly name?: string } }): boolean {
  return MANDATORY_FLOW_OBJECTS.has(metadata.name ?? '');
}

export interface FlowConfiguration {
  /** The flow schemas in the order they are tried. */
  readonly schemas: readonly FlowSchema[];
  readonly levels: ReadonlyMap<string, PriorityLevelConfiguration>;
}

/** Builds the configuration from the stored objects. */
export function flowConfigurationOf(
  schemas: Iterable<FlowSchema>,
  levels: Iterable<PriorityLevelConfiguration>,
): FlowConfiguration {
  const byName = withMandatory(levels, mandatoryLevels);
  const sorted = [...withMandatory(schemas, mandatorySchemas).values()]
    .filter(({ spec }) => byName.has(spec?.priorityLevelConfiguration.name ?? ''))
    .toSorted((a, b) => precedence(a) - precedence(b) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  return { schemas: sorted, levels: byName };
}

function withMandatory<T extends FlowSchema | PriorityLevelConfiguration>(
  stored: Iterable<T>,
  always: readonly T[],
): Map<string, T> {
  return new Map([...always, ...stored].map((object) => [object.metadata.name ?? '', object]));
}

function precedence({ spec }: FlowSchema): number {
  return spec?.matchingPrecedence ?? 1000;
}
