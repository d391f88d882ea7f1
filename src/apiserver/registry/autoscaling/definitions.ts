/** autoscaling. v2 is what the store holds. Upstream: registry/autoscaling. */
import {
  setHorizontalPodAutoscalerDefaults,
  setHorizontalPodAutoscalerV1Defaults,
} from '../../../api/defaults/autoscaling.ts';
import type { HorizontalPodAutoscaler } from '../../../api/gen/autoscaling-v2.ts';
import { HorizontalPodAutoscalers, HorizontalPodAutoscalersV1 } from '../../../api/gen/resources.ts';
import {
  validateHorizontalPodAutoscaler,
  validateHorizontalPodAutoscalerStatus,
  validateHorizontalPodAutoscalerUpdate,
} from '../../../api/validation/horizontal-pod-autoscaler.ts';
import { defineResource } from '../define-resource.ts';
import { specOf } from '../kind-strategy.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { autoscalerFromV1, autoscalerToV1 } from './conversion.ts';
import { horizontalPodAutoscalerPrinter } from './tables.ts';

const EMPTY_STATUS = { currentReplicas: 0, desiredReplicas: 0 };

export const autoscalingDefinitions: readonly ResourceDefinition[] = [
  defineResource(HorizontalPodAutoscalers, {
    rules: {
      emptyStatus: { ...EMPTY_STATUS, currentMetrics: [] },
      generationOf: specOf,
      defaults: setHorizontalPodAutoscalerDefaults,
      validate: validateHorizontalPodAutoscaler,
      validateUpdate: validateHorizontalPodAutoscalerUpdate,
    },
    statusRules: { validateUpdate: validateHorizontalPodAutoscalerStatus },
    printer: horizontalPodAutoscalerPrinter,
  }),
  defineResource(HorizontalPodAutoscalersV1, {
    rules: {
      emptyStatus: EMPTY_STATUS,
      generationOf: specOf,
      defaults: setHorizontalPodAutoscalerV1Defaults,
      validate: (autoscaler, field) => validateHorizontalPodAutoscaler(autoscalerFromV1(autoscaler), field),
      validateUpdate: (autoscaler, old, field) =>
        validateHorizontalPodAutoscalerUpdate(autoscalerFromV1(autoscaler), autoscalerFromV1(old), field),
    },
    statusRules: {
      validateUpdate: (autoscaler, old, field) =>
        validateHorizontalPodAutoscalerStatus(autoscalerFromV1(autoscaler), autoscalerFromV1(old), field),
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
