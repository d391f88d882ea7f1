/** A simulated machine as the test describes it, and the world it stands in. */
import type { ApiHandler } from '../api/transport.ts';
import type { Instance } from '../cluster/instance/instance.ts';
import type { SimImage } from '../cri/sim/sim-image.ts';
import type { KubeletConfiguration } from '../kubelet/kubelet-configuration.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { RealNet } from '../platform/sim/net.ts';
import type { SimPlatform } from '../platform/sim/sim-platform.ts';

/** A node as the test describes it. */
export interface SimNodeSpec {
  readonly name: string;
  /** Default 4. */
  readonly cpus?: number;
  /** Default 8 GiB. */
  readonly memoryBytes?: number;
  /** Default 110. */
  readonly maxPods?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: KubeletConfiguration['registerWithTaints'];
  /** Names of drivers of devices (DRA) that run there. Each gets any claim ready that is allocated from its devices. */
  readonly draDrivers?: readonly string[];
  /** Any other setting of its kubelet. */
  readonly kubelet?: Partial<KubeletConfiguration>;
}

/** What the machine stands in. */
export interface SimNodeDeps {
  readonly beside: SimPlatform<Clock>;
  /** Where its warnings and errors go; it keeps them without it. */
  readonly log?: Log;
  readonly seed: string;
  readonly address: string;
  readonly instance: Instance;
  readonly server: () => ApiHandler | undefined;
  readonly images: () => readonly SimImage[];
  /** Reaches servers of the test on this machine. */
  readonly realNet: RealNet;
  readonly unknownImages: 'run' | 'refuse';
  /** Addresses of its pods when no controller gives nodes their ranges; undefined: one does. */
  readonly podCidr: string | undefined;
}
