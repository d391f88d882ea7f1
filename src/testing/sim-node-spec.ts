/** The test's specification of a simulated machine, and the machine's dependencies. */
import type { ApiHandler } from '../api/transport.ts';
import type { Instance } from '../cluster/instance/instance.ts';
import type { SimImage } from '../cri/sim/sim-image.ts';
import type { KubeletConfiguration } from '../kubelet/kubelet-configuration.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { RealNet } from '../platform/sim/net.ts';
import type { SimPlatform } from '../platform/sim/sim-platform.ts';

/** A test's specification of a node. */
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
  /** Names of device drivers (DRA) on the machine. Each prepares any claim that is allocated from its devices. */
  readonly draDrivers?: readonly string[];
  /** Any other setting of its kubelet. */
  readonly kubelet?: Partial<KubeletConfiguration>;
}

export interface SimNodeDeps {
  readonly beside: SimPlatform<Clock>;
  /** Receives its warnings and errors; without it the node keeps them. */
  readonly log?: Log;
  readonly seed: string;
  readonly address: string;
  readonly instance: Instance;
  readonly server: () => ApiHandler | undefined;
  readonly images: () => readonly SimImage[];
  /** Reaches servers of the test on this machine. */
  readonly realNet: RealNet;
  readonly unknownImages: 'run' | 'refuse';
  /** The range of its pods' addresses when no controller assigns ranges; undefined when one does. */
  readonly podCidr: string | undefined;
}
