/** All ports in one object, which the composition root passes to components. */
import type { Cgroups } from './cgroups.ts';
import type { Clock } from './clock.ts';
import type { Compression } from './compression.ts';
import type { CryptoPort } from './crypto.ts';
import type { Datagrams } from './datagrams.ts';
import type { EventLoop } from './event-loop.ts';
import type { Exec } from './exec.ts';
import type { Files } from './files.ts';
import type { Host } from './host.ts';
import type { ListenHttp } from './http.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Mounter } from './mounter.ts';
import type { Net } from './net.ts';
import type { Random } from './random.ts';
import type { ListenRpc } from './rpc.ts';
import type { ServiceManager } from './service-manager.ts';
import type { Threads } from './threads.ts';

/** The ports that every part of a process needs: time, randomness, log and metrics, no I/O. */
export interface BasePlatform {
  readonly clock: Clock;
  readonly random: Random;
  readonly crypto: CryptoPort;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Everything that a node's components may do to the machine. */
export interface Platform extends BasePlatform {
  readonly files: Files;
  readonly exec: Exec;
  readonly net: Net;
  readonly listenHttp: ListenHttp;
  readonly listenRpc: ListenRpc;
  readonly compression: Compression;
  readonly threads: Threads;
  readonly eventLoop: EventLoop;
  readonly datagrams: Datagrams;
  readonly host: Host;
  readonly mounter: Mounter;
  readonly cgroups: Cgroups;
  readonly serviceManager: ServiceManager;
}
