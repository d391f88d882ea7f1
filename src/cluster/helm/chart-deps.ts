/** The dependencies and configuration of the HelmChart controller. */
import type { Secret } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { InformerFactory } from '../../client/informer.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ChartJobsConfig, ChartJobsDeps } from './chart-jobs.ts';

export interface ChartControllerDeps extends Pick<ChartJobsDeps, 'runner' | 'token'> {
  readonly client: Client;
  readonly informers: InformerFactory;
  readonly platform: Pick<Platform, 'clock' | 'random' | 'crypto' | 'log' | 'metrics' | 'files'>;
  readonly recorder: EventRecorder;
  /** Calls back at each change of a Secret. */
  onSecretChange(listener: (secret: Stored<Secret>) => void): void;
}

export interface ChartControllerConfig extends ChartJobsConfig {
  /** The image of jobs for charts without one; '': this process runs helm. */
  readonly jobImage: string;
  /** Host and port of the API server, for charts that name it. */
  readonly apiHost: string;
  /** The folder in which `spec.chart` finds chart files by name. */
  readonly chartsFolder: string;
}

/** For the parts of the controller, which work on one chart at a time. */
export interface ChartDeps extends ChartControllerDeps {
  /** Enqueues the chart after this delay. */
  later(key: string, afterMs: number): void;
}
