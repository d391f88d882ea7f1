/** A container's need for an image, and when the image is pulled. Upstream: shouldPullImage. */
import type { Container, Pod, Secret } from '../../api/gen/core-v1.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { StepScope } from '../../component-helpers/pod-trace/step-scope.ts';
import type { Init } from '../../cri/call-options.ts';
import type { PodSandboxConfig } from '../../cri/gen/cri-types.ts';
import type { ImageReference } from '../../api/image-reference.ts';

/** One container's need for an image. */
export interface ImageNeed {
  readonly pod: Pod;
  readonly container: Pick<Container, 'image' | 'imagePullPolicy'>;
  /** The object of events: the container in its pod. */
  readonly target: EventTarget;
  readonly pullSecrets: readonly Secret[];
  readonly sandboxConfig?: Init<PodSandboxConfig>;
  /** Called before a pull begins: one may take long. */
  readonly beforePull?: (() => void) | undefined;
  readonly trace: StepScope;
  readonly signal: AbortSignal;
}

export function pullPolicy(container: ImageNeed['container'], reference: ImageReference): string {
  if (container.imagePullPolicy) return container.imagePullPolicy;
  return reference.digest === undefined && (reference.tag ?? 'latest') === 'latest' ? 'Always' : 'IfNotPresent';
}
