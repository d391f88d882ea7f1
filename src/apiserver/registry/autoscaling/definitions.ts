/** autoscaling. v2 is what the store holds. Upstream: registry/autoscaling. */
import {
  setHorizontalPodAutoscalerDefaults,
  setHorizontalPodAutoscalerV1Defaults,
} from '../../../api/defaults/autoscaling.ts';
import type { HorizontalPodAutoscaler } from '../../../api/gen/autoscaling-v2.ts';
import { HorizontalPodAutoscalers, HorizontalPodAutoscalersV1 } from '../../../api/gen/resources.ts';
import { validateHorizontalPodAutoscaler } from '../../../api/validation/horizontal-pod-autoscaler.ts';
import { defineResource } from '../define-resource.ts';
import { specOf } from '../kind-strategy.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { autoscalerFromV1, autoscalerToV1 } from './conversion.ts';
import { horizontalPodAutoscalerPrinter } from './tables.ts';

const EMPTY_STATUS = { currentReplicas: 0, desiredReplicas: 0 };

/** Definitions of autoscaling. */
export const autoscalingDefinitions: readonly ResourceDefinition[] = [
  defineResource(HorizontalPodAutoscalers, {
    rules: {
      emptyStatus: { ...EMPTY_STATUS, currentMetrics: [] },
      generationOf: specOf,
      defaults: setHorizontalPodAutoscalerDefaults,
      validate: validateHorizontalPodAutoscaler,
    },
    printer: horizontalPodAutoscalerPrinter,
  }),
  defineResource(HorizontalPodAutoscalersV1, {
    rules: {
      emptyStatus: EMPTY_STATUS,
      generationOf: specOf,
      defaults: setHorizontalPodAutoscalerV1Defaults,
      validate: (autoscaler, field) => validateHorizontalPodAutoscaler(autoscalerFromV1(autoscaler), field),
    },
    printer: {
      columns: horizontalPodAutoscalerPrinter.columns,
      cells: (autoscaler, nowMs) => horizontalPodAutoscalerPrinter.cells(autoscalerFromV1(autoscaler), nowMs),
    },
    conversion: {
      toStored: autoscalerFromV1,
      fromStored: (stored) => autoscalerToV1(stored as HorizontalPodAutoscaler),
    },
  }),
];
