/** One simulated pod sandbox. */
import type { PodSandboxConfig } from '../gen/cri-types.ts';
import type { Init } from '../call-options.ts';

/** A sandbox; `ready` ends with StopPodSandbox. */
export interface SimSandbox {
  readonly id: string;
  readonly config: Init<PodSandboxConfig>;
  readonly createdAtMs: number;
  readonly runtimeHandler: string;
  readonly hostNetwork: boolean;
  /** '' in the host's network, and after the sandbox was stopped. */
  ip: string;
  ready: boolean;
}
