// `keelson kubelet` as a separate process from the bundle: a node of `keelson up --simulate`, whose container runtime, device
// plugin and CSI driver belong to the fuzzer. It connects only to unix sockets and loopback.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../src/platform/node/free-port-fixture.ts';
import { type Peers, startPeers } from '../peers/steady-peers.ts';
import type { SocketAccess, TcpAccess } from '../transports/access.ts';
import { type KeelsonUp, startKeelsonUp } from './keelson-up.ts';
import { accountToken, kubeletChecks, NODE } from './kubelet-checks.ts';
import { startProgram } from './program.ts';
import type { Target } from './target.ts';

/** The parts that outlive a kubelet. */
interface Machine {
  readonly server: KeelsonUp;
  readonly peers: Peers;
  /** The token of a service account without rights. */
  readonly token: string;
}

/** A range of loopback that no other fuzzer uses. */
const podAddresses = `127.${64 + ((process.pid >> 8) & 63)}.${process.pid & 255}.0/24`;

export async function startKubelet(): Promise<Target> {
  const server = await startKeelsonUp();
  try {
    await server.checks.prepare();
    const peers = await startPeers(server.folder, podAddresses);
    return await run({ server, peers, token: await accountToken(server.access) });
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function configuration(server: KeelsonUp, { runtimeSocket }: Peers, ports: readonly number[]): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${runtimeSocket}`,
    runtimeRequestTimeout: '5s',
    address: '127.0.0.1',
    port: ports[0],
    readOnlyPort: ports[1],
    healthzPort: 0,
    authentication: { x509: { clientCAFile: join(server.folder, 'data/pki/ca.crt') } },
    enableSystemLogQuery: true,
    featureGates: { ContainerCheckpoint: true, NodeLogQuery: true },
    podLogsDir: join(server.folder, 'pod-logs'),
    cgroupsPerQOS: false,
    enforceNodeAllocatable: ['none'],
    failSwapOn: false,
    failCgroupV1: false,
    evictionHard: { 'memory.available': '1Mi' },
    maxPods: 250,
    kubeAPIQPS: -1,
    eventRecordQPS: 1,
    oomScoreAdj: 0,
    volumePluginDir: join(server.folder, 'flex'),
  };
}

async function run(machine: Machine): Promise<Target> {
  const { server, peers } = machine;
  const { folder } = server;
  const ports = [await freePort(), await freePort()];
  await writeFile(join(folder, 'kubelet.json'), JSON.stringify(configuration(server, peers, ports)));
  const root = join(folder, 'kubelet');
  const flags = [
    ...['kubelet', `--config=${folder}/kubelet.json`, `--kubeconfig=${folder}/data/admin.kubeconfig`],
    ...[`--root-dir=${root}`, `--cert-dir=${folder}/pki`, `--hostname-override=${NODE}`, '--node-ip=127.0.0.1'],
  ];
  const program = startProgram(flags, folder);
  const stop = async (): Promise<void> => {
    await program.stop();
    peers.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const { tls } = server.access;
  const access: TcpAccess = {
    host: '127.0.0.1',
    port: ports[0]!,
    tls: { cert: tls!.cert!, key: tls!.key!, rejectUnauthorized: false },
  };
  const checks = kubeletChecks({ server: server.access, kubelet: access, peers, root });
  try {
    await checks.ready();
  } catch (error) {
    const log = program.log();
    await stop();
    throw new Error(`the kubelet does not start: ${String(error)}\n${log.slice(-5000)}`, { cause: error });
  }
  return {
    ...program,
    access,
    folder,
    doors: doorsOf(machine, access, { readOnly: ports[1]!, root }),
    peers,
    plugins: { registry: join(root, 'plugins_registry'), devices: join(root, 'device-plugins') },
    checks,
    async restart() {
      await program.stop();
      return run(machine);
    },
    stop,
  };
}

function doorsOf(
  { server, token }: Machine,
  access: TcpAccess,
  { readOnly, root }: { readonly readOnly: number; readonly root: string },
): Record<string, TcpAccess | SocketAccess> {
  const nobody = { host: access.host, port: access.port, tls: { rejectUnauthorized: false } };
  return {
    nobody,
    account: { ...nobody, headers: [['Authorization', `Bearer ${token}`]] },
    'read-only': { host: access.host, port: readOnly },
    server: server.access,
    devices: { socketPath: join(root, 'device-plugins/kubelet.sock') },
    'pod-resources': { socketPath: join(root, 'pod-resources/kubelet.sock') },
  };
}
