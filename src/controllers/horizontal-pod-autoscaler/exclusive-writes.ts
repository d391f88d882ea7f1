import { HorizontalPodAutoscalers } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Its own status; sizes are set through `scale`, as people do. */
export const horizontalPodAutoscalerWrites: ExclusiveWrites = {
  account: 'horizontal-pod-autoscaler',
  writes: [{ resource: HorizontalPodAutoscalers, fields: [['status']] }],
};
