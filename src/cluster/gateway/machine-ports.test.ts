/** The ports that a machine needs itself: their users, the refusal of flags that name one, and their release at a start. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { freePorts } from './former-data-plane.ts';
import { checkRoutePorts, machinePorts, readMachinePorts } from './machine-ports.ts';

const config = {
  httpsPort: 7443,
  kubeletPort: 10_251,
  kubeletPlainPorts: [9255],
  etcdPorts: [12_379, 12_380],
  nodePorts: { first: 31_000, last: 31_009 },
};

describe('ports that the machine needs', () => {
  const cases: readonly (readonly [port: number, user: string | undefined])[] = [
    [22, 'SSH'],
    [53, 'DNS'],
    [80, undefined],
    [443, undefined],
    [2379, 'etcd'],
    [2380, 'etcd'],
    [6443, undefined],
    [7443, 'the API server'],
    [9255, 'the kubelet'],
    [10_248, 'the kubelet'],
    [10_250, 'the kubelet'],
    [10_251, 'the kubelet'],
    [10_252, undefined],
    [10_255, 'the kubelet'],
    [10_257, 'the metrics of kube-controller-manager'],
    [12_380, 'etcd'],
    [30_999, undefined],
    [31_000, 'services of type NodePort'],
    [31_009, 'services of type NodePort'],
    [31_010, undefined],
  ];
  for (const [port, user] of cases)
    test(`${port}: ${user ?? 'none'}`, () => assert.equal(machinePorts(config).userOf(port), user));

  test("a flag that names one is refused in one line with the port's user", () => {
    const ports = machinePorts(config);
    checkRoutePorts({ gateway: { http: 80, https: 443 } }, ports);
    checkRoutePorts({}, ports);
    assert.throws(() => checkRoutePorts({ gateway: { http: 7443, https: 443 } }, ports), {
      name: 'PreflightError',
      message: '--gateway-http-port: port 7443 is needed by the API server; choose another',
    });
    assert.throws(() => checkRoutePorts({ gateway: { http: 80, https: 31_005 } }, ports), {
      name: 'PreflightError',
      message: '--gateway-https-port: port 31005 is needed by services of type NodePort; choose another',
    });
  });

  test('ports are read from etcd.json and the options', async () => {
    const { files } = createSimPlatform();
    await files.makeDir('/d');
    const urls = { clientUrl: 'https://10.0.0.1:3379', peerUrl: 'https://10.0.0.1:3380' };
    await files.writeFile('/d/etcd.json', JSON.stringify({ name: 'n', others: [], ...urls }));
    const ports = await readMachinePorts(files, {
      instance: { dataDir: '/d', httpsPort: 6443 } as never,
      options: {} as never,
      kubeletPort: 10_250,
      kubeletPlainPorts: [],
    });
    assert.deepEqual([3379, 3380, 30_000, 32_768].map(ports.userOf), [
      'etcd',
      'etcd',
      'services of type NodePort',
      undefined,
    ]);
    assert.deepEqual(ports.own, [6443, 10_250, 3379, 3380]);
  });
});

describe('a data plane that outlived Keelson', () => {
  const place = { runDir: '/run/keelson/abc', logDir: '/d/logs' };
  const ended = async (listening: number, needed: readonly (number | undefined)[]): Promise<boolean> => {
    const platform = createSimPlatform();
    const { clock, exec, files } = platform;
    exec.program('node', () => ({}));
    const command = ['gateway-server', '--control', `${place.runDir}/gateway/control`];
    const pid = await exec.startDaemon('node', command, { logFile: '/log' });
    const hex = listening.toString(16).toUpperCase();
    for (const dir of [`/proc/${pid}/fd`, '/proc/self', '/proc/net', place.runDir]) await files.makeDir(dir);
    await files.writeFile(`/proc/${pid}/stat`, `${pid} (node) S ${Array(18).fill('0').join(' ')} 77 0`);
    for (const who of [pid, 'self']) await files.writeFile(`/proc/${who}/status`, 'Uid:\t0\t0\t0\t0\n');
    await files.writeFile(`/proc/${pid}/cmdline`, `node\0${command.join('\0')}\0`);
    await files.writeFile('/proc/net/tcp', `head\n 0: 00000000:${hex} 00000000:0000 0A 0:0 00:0 0 0 0 555 1\n`);
    await files.symlink('socket:[555]', `/proc/${pid}/fd/20`);
    const record = `${place.runDir}/gateway.json`;
    await files.writeFile(record, JSON.stringify({ pid, configHash: 'of an earlier start' }));
    const freeing = freePorts(platform, place, needed);
    await clock.advance(20_000);
    await freeing;
    return !(await files.exists(record)) && !exec.kill(pid, 0);
  };
  test('is ended when it holds a port that is now the API server’s', async () =>
    assert.equal(await ended(8443, [undefined, 8443]), true));
  test('continues otherwise', async () => assert.equal(await ended(8080, [8443]), false));
});
