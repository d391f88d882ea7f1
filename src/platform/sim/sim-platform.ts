/**
 * A whole platform in memory, on virtual time, repeatable from a seed: what unit tests and simulations hand to components.
 * Several hosts share one clock and one network.
 */
import { TextInterner } from '../../base/text-interner.ts';
import type { Clock } from '../clock.ts';
import type { EventLoop } from '../event-loop.ts';
import type { HostInfo } from '../host.ts';
import { UNEXPECTED_ERRORS_SPEC } from '../metrics.ts';
import type { Platform } from '../platform.ts';
import type { Random } from '../random.ts';
import { createSimCgroups, type SimCgroups } from './cgroups.ts';
import { createSimServiceManager, type SimServiceManager } from './service-manager.ts';
import { createSimCompression } from './compression.ts';
import { createSimEventLoop } from './event-loop.ts';
import { createSimThreads } from './threads.ts';
import { createSimCrypto } from './crypto.ts';
import { createSimDatagrams } from './datagrams.ts';
import { createSimExec, type SimExec } from './exec.ts';
import { createMemoryFiles, type MemoryFiles } from './files.ts';
import { createSimHost, type SimHost } from './host.ts';
import { createMemoryLog, type MemoryLog, type MemoryLogOptions } from './log.ts';
import { createMemoryMetrics, type MemoryMetrics } from './metrics.ts';
import { createSimMounter, type SimMounter } from './mounter.ts';
import { createSimNet, createSimNetwork, type RealNet, type SimNet, type SimNetwork } from './net.ts';
import { createSeededRandom } from './random.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface SimPlatformOptions<C extends Clock = VirtualClock> {
  /** Default 1. */
  readonly seed?: number | string;
  /** Wall-clock start of a new clock. */
  readonly startMs?: number;
  readonly host?: Partial<HostInfo>;
  /** Default `10.0.0.1`. Must differ between hosts of one network. */
  readonly addresses?: readonly string[];
  /** The clock and network of another host, to be beside it. */
  readonly beside?: SimPlatform<C>;
  /** How much of its log is kept. Default all, up to 10,000 lines. */
  readonly log?: MemoryLogOptions;
  /** Time of another kind than a virtual clock's: the machine's own. */
  readonly clock?: C;
  /** Answers HTTP calls to loopback addresses where nothing simulated listens: the machine's own network. Default none. */
  readonly loopback?: RealNet;
  /** A faster implementation than the simulation's own. */
  readonly sha256Hex?: Platform['crypto']['sha256Hex'];
  /** The event loop that paces real time. Default: one that is never blocked. */
  readonly eventLoop?: EventLoop | undefined;
}

/** A platform whose parts tests control and inspect. */
export interface SimPlatform<C extends Clock = VirtualClock> extends Platform {
  readonly clock: C;
  readonly random: Random;
  readonly log: MemoryLog;
  readonly metrics: MemoryMetrics;
  readonly files: MemoryFiles;
  readonly exec: SimExec;
  readonly net: SimNet;
  readonly network: SimNetwork;
  readonly host: SimHost;
  readonly mounter: SimMounter;
  readonly cgroups: SimCgroups;
  readonly serviceManager: SimServiceManager;
  /** Makes one what is equal on all hosts of one network: names and contents of files. */
  readonly texts: TextInterner;
}

export function createSimPlatform<C extends Clock = VirtualClock>(options: SimPlatformOptions<C> = {}): SimPlatform<C> {
  const clock = options.clock ?? options.beside?.clock ?? virtualClock<C>(options.startMs);
  const network = options.beside?.network ?? createSimNetwork(clock);
  const addresses = options.addresses ?? ['10.0.0.1'];
  const net = createSimNet(network, addresses, options.loopback);
  const texts = options.beside?.texts ?? new TextInterner();
  const files = createMemoryFiles({ nowMs: () => clock.nowMs(), texts });
  const metrics = createMemoryMetrics();
  const onUnexpected = (component: string): void => metrics.counter(UNEXPECTED_ERRORS_SPEC).inc({ component });
  return {
    clock,
    random: createSeededRandom(options.seed ?? 1),
    crypto: createSimCrypto(clock, options.sha256Hex ?? options.beside?.crypto.sha256Hex),
    log: createMemoryLog({ texts, onUnexpected, ...options.log }),
    metrics,
    files,
    exec: createSimExec(clock),
    net,
    network,
    listenHttp: net.listenHttp,
    // Such a socket is only a name in the file system.
    async listenRpc(socketPath) {
      await files.remove(socketPath);
      files.makeSpecial(socketPath, 'socket');
      return { close: () => files.remove(socketPath) };
    },
    compression: createSimCompression(),
    threads: createSimThreads(),
    eventLoop: options.eventLoop ?? createSimEventLoop(),
    datagrams: createSimDatagrams({ network, net, address: addresses[0] ?? '127.0.0.1' }),
    host: createSimHost(options.host),
    mounter: createSimMounter(),
    cgroups: createSimCgroups(),
    serviceManager: createSimServiceManager(),
    texts,
  };
}

/** C is a virtual clock's wherever no clock was given. */
function virtualClock<C extends Clock>(startMs: number | undefined): C {
  return new VirtualClock(startMs === undefined ? {} : { startMs }) as Clock as C;
}
