/** A flow schema's condition `Dangling`: whether its priority level is missing. Upstream: apf_controller.go syncOne. */
import type { FlowSchema, FlowSchemaCondition } from '../../api/gen/flowcontrol-v1.ts';

/** The condition, without the time of its last transition. */
export function danglingCondition(
  { spec }: FlowSchema,
  levels: { has(name: string): boolean },
): Omit<FlowSchemaCondition, 'lastTransitionTime'> {
  const level = spec?.priorityLevelConfiguration.name ?? '';
  const exists = levels.has(level);
  const subject = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`;
  return {
    type: 'Dangling',
    status: exists ? 'False' : 'True',
    reason: exists ? 'Found' : 'NotFound',
    message: exists ? `${subject} and it exists` : `${subject} but there is no such object`,
  };
}
