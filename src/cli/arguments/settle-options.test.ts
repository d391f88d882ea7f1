/** Sources of options beside the command line: the file of `--config`, names, and the settings in a data directory. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Command } from 'commander';
import { withServerOptions, writeKubeconfigOption } from '../server-options.ts';
import { UserError } from '../usage-error.ts';
import { defaultDataDir, nameOfDataDir } from './cluster-name.ts';
import { parseConfig } from './config-file.ts';
import { addNames, settingsOf, settleOptions } from './settle-options.ts';

const folder = mkdtempSync(join(tmpdir(), 'keelson-settle-'));
after(() => rmSync(folder, { recursive: true }));

function upCommand(): Command {
  const up = withServerOptions(new Command('up'))
    .addOption(writeKubeconfigOption('none'))
    .option('--simulate')
    .option('--detach');
  addNames([up]);
  return up;
}

async function settled(args: readonly string[]): Promise<{ options: Record<string, unknown>; settings: object }> {
  const up = upCommand();
  const root = new Command('keelson').addCommand(up).exitOverride();
  root.hook('preAction', (_root, command) => settleOptions(command));
  up.action(() => undefined).exitOverride();
  await root.parseAsync(['up', ...args], { from: 'user' });
  return { options: up.opts(), settings: settingsOf(up) };
}

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

describe('--config', () => {
  test('sets every flag by its name; the command line takes precedence, for lists completely', async () => {
    const config = file(
      'a.yaml',
      'https-port: 7001\nlog-level: debug\nnode-label: [a=1, b=2]\nnode_taint: x=y:NoSchedule\n',
    );
    const { options } = await settled([`--config=${config}`, '--node-label', 'c=3', `--data-dir=${folder}/none`]);
    assert.deepEqual(
      [options['httpsPort'], options['logLevel'], options['nodeLabel'], options['nodeTaint']],
      ['7001', 'debug', ['c=3'], ['x=y:NoSchedule']],
    );
    assert.deepEqual((await settled([`--config=${config}`])).options['nodeLabel'], ['a=1', 'b=2']);
  });

  const K3S = `
write-kubeconfig-mode: "0644"
https-listen-port: 6444
tls-san: example.org
datastore-endpoint: https://10.0.0.1:2379,https://10.0.0.2:2379
datastore-cafile: /ca
flannel-backend: none
disable: [traefik, coredns, servicelb, local-storage, metrics-server, ccm]
kube-apiserver-arg: [audit-log-maxage=7]
kube-controller-manager-arg: [node-monitor-period=2s]
resolv-conf: /etc/x
debug: true
selinux: false
`;
  test('accepts the equivalent keys of k3s', async () => {
    const { options } = await settled([`--config=${file('k3s.yaml', K3S)}`, `--data-dir=${folder}/none`]);
    const expected = {
      kubeconfigMode: '0644',
      httpsPort: '6444',
      tlsSan: 'example.org',
      store: 'etcd=https://10.0.0.1:2379,https://10.0.0.2:2379',
      etcdCafile: '/ca',
      cni: 'none',
      dns: 'none',
      gateway: 'none',
      loadBalancer: 'none',
      localPath: 'none',
      metrics: 'none',
      controllerManagerArg: ['node-monitor-period=2s'],
      kubeletArg: ['resolv-conf=/etc/x'],
      logLevel: 'debug',
    };
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(options[name], value, name);
  });

  test('takes k3s’s backends of flannel', async () => {
    for (const [backend, name, value] of [
      ['none', 'cni', 'none'],
      ['host-gw', 'flannelBackend', 'vxlan'],
      ['vxlan', 'flannelBackend', 'vxlan'],
      ['wireguard-native', 'flannelBackend', 'wireguard-native'],
    ] as const) {
      const config = file('backend.yaml', `flannel-backend: ${backend}\n`);
      const { options } = await settled([`--config=${config}`, `--data-dir=${folder}/none`]);
      assert.equal(options[name], value, backend);
    }
  });

  test('accepts the keys of k3s for scheduled snapshots', () => {
    const text = `
etcd-snapshot-schedule-cron: "0 */6 * * *"
etcd-snapshot-retention: 7
etcd-snapshot-dir: /backup
etcd-snapshot-name: nightly
etcd-snapshot-compress: false
`;
    const values = parseConfig(text, 'x.yaml', upCommand());
    assert.deepEqual(Object.fromEntries(values.map(({ flag, text: value }) => [flag, value])), {
      'snapshot-schedule-cron': '0 */6 * * *',
      'snapshot-retention': '7',
      'snapshot-dir': '/backup',
      'snapshot-name': 'nightly',
    });
  });

  for (const [text, says] of [
    ['a: [', /x\.yaml: Flow sequence/],
    ['- a', /x\.yaml: it must be keys with values/],
    ['https-prt: 1', /https-prt: keelson up has no flag --https-prt/],
    ['detach: true', /detach: give --detach on the command line/],
    ['simulate: maybe', /simulate: maybe is neither true nor false/],
    ['node-label: {a: b}', /node-label: it must be a text/],
    ['disable: network', /disable: not as in k3s: coredns, local-storage, metrics-server, servicelb and traefik can/],
    ['etcd-snapshot-compress: true', /etcd-snapshot-compress: not as in k3s: snapshots are not compressed/],
    ['etcd-disable-snapshots: true', /etcd-disable-snapshots: not as in k3s: snapshots are made only with/],
    ['secrets-encryption: true', /secrets-encryption: not as in k3s: name an EncryptionConfiguration/],
  ] as const)
    test(`${text} is refused`, () =>
      assert.throws(
        () => parseConfig(text, 'x.yaml', upCommand()),
        (error: Error) => error instanceof UserError && error.exitCode === 2 && says.test(error.message),
      ));

  test('a wrong value is refused with its file and key', async () => {
    const config = file('wrong.yaml', 'log-level: loud\n');
    await assert.rejects(settled([`--config=${config}`]), /wrong\.yaml: log-level: Allowed choices are debug/);
  });
});

describe('names', () => {
  test('a name selects a data directory, unless one is given', async () => {
    assert.equal((await settled(['--name=n-o-n-e'])).options['dataDir'], '/var/lib/keelson-n-o-n-e');
    assert.equal((await settled(['--name=dev', `--data-dir=${folder}/x`])).options['dataDir'], `${folder}/x`);
    assert.match(defaultDataDir('dev', true), /keelson-simulated-dev$/);
    await assert.rejects(settled(['--name=Dev']), /--name: Dev must consist of/);
    await assert.rejects(settled(['--name=simulated-a']), /names that begin with simulated/);
  });

  test('a cluster without a name has its directory’s', () => {
    for (const [dir, name] of [
      ['/var/lib/keelson', 'keelson'],
      ['/srv/My Cluster!', 'my-cluster'],
      ['/', 'keelson'],
    ] as const)
      assert.equal(nameOfDataDir(dir), name);
  });
});

describe('the settings in a data directory', () => {
  test('are used where the command line is silent, and passed on', async () => {
    file('settings.json', JSON.stringify({ name: 'dev', 'https-port': '7443', store: 'memory' }));
    const { options, settings } = await settled([`--data-dir=${folder}`, '--store=sqlite']);
    assert.deepEqual([options['name'], options['httpsPort'], options['store']], ['dev', '7443', 'sqlite']);
    assert.deepEqual(settings, { name: 'dev', 'https-port': '7443', store: 'sqlite' });
  });

  test('a port of the gateway on the command line enables the gateway that was left out', async () => {
    for (const port of ['gateway-http-port', 'gateway-https-port']) {
      file('settings.json', JSON.stringify({ gateway: 'none', 'gateway-http-port': '8000' }));
      const { options, settings } = await settled([`--data-dir=${folder}`, `--${port}=8080`]);
      assert.equal(options['gateway'], undefined);
      assert.equal((settings as Record<string, unknown>)[port], '8080');
      assert.equal('gateway' in settings, false, 'the next start has the gateway too');
    }
    file('settings.json', JSON.stringify({ gateway: 'none', 'gateway-http-port': '8000' }));
    assert.equal((await settled([`--data-dir=${folder}`])).options['gateway'], 'none');
    const both = await settled([`--data-dir=${folder}`, '--gateway=none', '--gateway-http-port=8080']);
    assert.equal(both.options['gateway'], 'none');
  });

  test('defaults are not remembered, and a broken file is named', async () => {
    assert.deepEqual((await settled([`--data-dir=${folder}/none`])).settings, {});
    file('settings.json', '{');
    await assert.rejects(settled([`--data-dir=${folder}`]), /the data directory is broken: .*settings\.json/);
  });
});
