/** Reasons why an image is not present: upstream's, and the runtime's message. Upstream: pkg/kubelet/images/types.go. */
import { errorMessage } from '../../base/errors.ts';
import type { PullErrorClass } from '../../api/pod-node-state.ts';
import { CriError } from '../../cri/cri-error.ts';

/** Waiting reasons of containers whose image is not present. */
export type ImageFailureReason =
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'ErrImageNeverPull'
  | 'InvalidImageName'
  | 'ImageInspectError'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed';

/** `retryAfterMs` is set when a retry may succeed without any change. */
export class ImageError extends Error {
  readonly reason: ImageFailureReason;
  readonly retryAfterMs: number | undefined;

  constructor(reason: ImageFailureReason, message: string, options?: ErrorOptions & { retryAfterMs?: number }) {
    super(message, options);
    this.name = 'ImageError';
    this.reason = reason;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

export interface PullFailure {
  /** The name in the container's spec. */
  readonly image: string;
  readonly text: string;
  readonly atMs: number;
  readonly errorClass: PullErrorClass;
}

export function pullFailure(image: string, error: unknown): { reason: ImageFailureReason; message: string } {
  const detail = error instanceof CriError ? error.detail : '';
  if (detail.startsWith('RegistryUnavailable'))
    return {
      reason: 'RegistryUnavailable',
      message: `image pull failed for ${image} because the registry is unavailable: ${errorMessage(error)}`,
    };
  if (detail.startsWith('SignatureValidationFailed'))
    return {
      reason: 'SignatureValidationFailed',
      message: `image pull failed for ${image} because the signature validation failed: ${errorMessage(error)}`,
    };
  return { reason: 'ErrImagePull', message: errorMessage(error) };
}
