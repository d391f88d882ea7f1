/** autoscaling. v2 is what the store holds; autoscalers have no generation. Upstream: registry/autoscaling. */
import {
  setHorizontalPodAutoscalerDefaults,
  setHorizontalPodAutoscalerV1Defaults,
} from '../../../api/defaults/autoscaling.ts';
import type { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from '../../../api/gen/autoscaling-v1.ts';
import type { HorizontalPodAutoscaler } from '../../../api/gen/autoscaling-v2.ts';
import { HorizontalPodAutoscalers, HorizontalPodAutoscalersV1 } from '../../../api/gen/resources.ts';
import {
  validateHorizontalPodAutoscaler,
  validateHorizontalPodAutoscalerStatus,
  validateHorizontalPodAutoscalerUpdate,
} from '../../../api/validation/horizontal-pod-autoscaler.ts';
import { defineResource } from '../define-resource.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { autoscalerFromV1, autoscalerToV1, setDefaultTarget } from './conversion.ts';
import { BEHAVIOR, CONDITIONS, CURRENT_METRICS, keepRoundTrip, METRICS, withoutRoundTrip } from './round-trip.ts';
import { horizontalPodAutoscalerPrinter } from './tables.ts';

/** The annotations of v1 that belong to the status and to the spec. */
const OF_STATUS = [CURRENT_METRICS, CONDITIONS];
const OF_SPEC = [METRICS, BEHAVIOR];

const EMPTY_STATUS = { currentReplicas: 0, desiredReplicas: 0 };

/** Gives a v1 draft the form in which it will be read back: with v2's defaults and without empty annotations. */
function passThroughV2(draft: HorizontalPodAutoscalerV1): void {
  const autoscaler = autoscalerFromV1(draft);
  setHorizontalPodAutoscalerDefaults(autoscaler);
  const { metadata, spec, status } = autoscalerToV1(autoscaler);
  Object.assign(draft, { metadata, spec, status });
}

export const autoscalingDefinitions: readonly ResourceDefinition[] = [
  defineResource(HorizontalPodAutoscalers, {
    rules: {
      emptyStatus: { ...EMPTY_STATUS, currentMetrics: [] },
      defaults(draft) {
        setHorizontalPodAutoscalerDefaults(draft);
        const metadata = withoutRoundTrip(draft.metadata);
        if (metadata !== draft.metadata) draft.metadata = metadata;
      },
      validate: validateHorizontalPodAutoscaler,
      validateUpdate: validateHorizontalPodAutoscalerUpdate,
    },
    statusRules: { validateUpdate: validateHorizontalPodAutoscalerStatus },
    printer: horizontalPodAutoscalerPrinter,
  }),
  defineResource(HorizontalPodAutoscalersV1, {
    rules: {
      emptyStatus: EMPTY_STATUS,
      prepareForCreate(draft) {
        keepRoundTrip(draft.metadata, {}, OF_STATUS);
        passThroughV2(draft);
      },
      prepareForUpdate(draft, old) {
        keepRoundTrip(draft.metadata, old.metadata, OF_STATUS);
        passThroughV2(draft);
      },
      defaults(draft) {
        setHorizontalPodAutoscalerV1Defaults(draft);
        setDefaultTarget(draft);
      },
      validate: (autoscaler, field) => validateHorizontalPodAutoscaler(autoscalerFromV1(autoscaler), field),
      validateUpdate: (autoscaler, old, field) =>
        validateHorizontalPodAutoscalerUpdate(autoscalerFromV1(autoscaler), autoscalerFromV1(old), field),
    },
    statusRules: {
      prepareForUpdate(draft, old) {
        keepRoundTrip(draft.metadata, old.metadata, OF_SPEC);
        passThroughV2(draft);
      },
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
