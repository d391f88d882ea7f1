/**
 * The real platform: every port on this machine. Creating it starts the spawner process (see exec.ts) while this
 * process is small; nothing else happens before its use. `close` ends what the platform itself started.
 */
import { UNEXPECTED_ERRORS_SPEC } from '../metrics.ts';
import type { Platform } from '../platform.ts';
import { createCgroups, detectCgroupVersion } from './cgroups.ts';
import { createNodeClock } from './clock.ts';
import { createNodeCompression } from './compression.ts';
import { createNodeCrypto } from './crypto.ts';
import { createNodeDatagrams } from './datagrams.ts';
import { createNodeExec, type NodeExec } from './exec.ts';
import { createNodeFiles } from './files.ts';
import { createNodeHost } from './host.ts';
import { createListenHttp } from './http-server.ts';
import { type LastError, LastErrors } from './last-errors.ts';
import { createNodeLog, type NodeLogOptions } from './log.ts';
import { createNodeMetrics } from './metrics.ts';
import { createNodeMounter } from './mounter.ts';
import { createNodeNet, type NodeNet } from './net.ts';
import { createNodeRandom } from './random.ts';
import { createListenRpc } from './rpc-server.ts';
import { createServiceManager, managedPid } from './service-manager.ts';
import { createNodeEventLoop } from './event-loop.ts';
import { keepTickShape } from './tick-shape.ts';
import { createNodeThreads } from './threads.ts';

export interface NodePlatformOptions {
  readonly log?: NodeLogOptions;
  /** The parent of all cgroups of this instance, e.g. `/keelson-ab12cd`. Default `/keelson`. */
  readonly cgroupRoot?: string;
  /** Whether the spawner starts at once. Default true; false for commands that run no programs. */
  readonly startSpawner?: boolean;
}

export interface NodePlatform extends Platform {
  readonly exec: NodeExec;
  readonly net: NodeNet;
  /** The errors that components of this process logged, the latest first. */
  lastErrors(): readonly LastError[];
  /** Ends the spawner and kept connections. */
  close(): void;
}

/** Makes the platform of this process. */
export function createNodePlatform(options: NodePlatformOptions = {}): NodePlatform {
  keepTickShape();
  const metrics = createNodeMetrics();
  const unexpected = metrics.counter(UNEXPECTED_ERRORS_SPEC);
  const errors = new LastErrors(() => Date.now());
  const log = createNodeLog({
    onUnexpected: (component) => unexpected.inc({ component }),
    onError: (component, message, error) => errors.add(component, message, error),
    ...options.log,
  });
  const exec = createNodeExec(log.child('exec'));
  if (options.startSpawner !== false) exec.start();
  const net = createNodeNet();
  const clock = createNodeClock(log.child('clock'));
  const files = createNodeFiles(log.child('files'));
  return {
    clock,
    random: createNodeRandom(),
    crypto: createNodeCrypto(),
    log,
    metrics,
    files,
    exec,
    net,
    listenHttp: createListenHttp(log.child('http')),
    listenRpc: createListenRpc(log.child('rpc')),
    compression: createNodeCompression(),
    threads: createNodeThreads(),
    eventLoop: createNodeEventLoop(clock),
    datagrams: createNodeDatagrams(log.child('datagrams')),
    host: createNodeHost({ files }),
    mounter: createNodeMounter({ files, exec }),
    cgroups: createCgroups({
      files,
      clock,
      kill: (pid) => exec.kill(pid, 'SIGKILL'),
      root: options.cgroupRoot ?? '/keelson',
      version: detectCgroupVersion(),
      mountRoot: '/sys/fs/cgroup',
    }),
    serviceManager: createServiceManager({ exec, env: process.env, pid: managedPid(process.env, process) }),
    lastErrors: () => errors.list(),
    close() {
      exec.close();
      net.close();
    },
  };
}
