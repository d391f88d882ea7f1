/** `keelson encryption status|rotate`, while the cluster runs and is written to, and after a kill. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { keelsonProgram, start, type Running } from '../integration/fixtures/programs.ts';
import { keelson, run, type Said } from './own-servers.ts';
import { startSimulated } from './simulated-server.ts';

const secretOf = (fill: number): string => Buffer.alloc(32, fill).toString('base64');

describe('the key of encryption', () => {
  let folder: string;
  let dataDir: string;
  let config: string;
  let running: Running | undefined;
  const encryption = (...args: string[]): Promise<Said> =>
    keelson(['encryption', ...args, `--data-dir=${dataDir}`, `--encryption-provider-config=${config}`]);
  const kubectl = (...args: string[]): Promise<Said> =>
    run(kubectlProgram(), [`--kubeconfig=${dataDir}/admin.kubeconfig`, `--cache-dir=${folder}/cache`, ...args]);
  const up = async (): Promise<void> => {
    running = await startSimulated(dataDir, { flags: [`--encryption-provider-config=${config}`] });
  };
  const down = async (): Promise<void> => {
    running?.kill();
    await running?.ended();
  };
  const makeSecret = async (name: string): Promise<void> => {
    const made = await kubectl('create', 'secret', 'generic', name, `--from-literal=name=${name}`);
    assert.equal(made.code, 0, made.stderr);
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keelson-rotate-'));
    dataDir = join(folder, 'data');
    config = join(folder, 'encryption.yaml');
    const keys = `keys: [{name: first, secret: ${secretOf(1)}}]`;
    const rule = `- resources: [secrets, configmaps]\n  providers: [{aescbc: {${keys}}}, {identity: {}}]`;
    await writeFile(
      config,
      `apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n${rule}\n`,
    );
    await up();
  });
  after(async () => {
    await down();
    await rm(folder, { recursive: true });
  });

  test('a killed rotation is continued; everything is rewritten, also concurrent writes, and the old key is removed', async () => {
    for (const name of ['a', 'b', 'c']) await makeSecret(name);
    const args = ['encryption', 'rotate', `--data-dir=${dataDir}`, `--encryption-provider-config=${config}`];
    const killed = start(process.execPath, [keelsonProgram, ...args]);
    await killed.until(/the key key-\d+-[0-9a-f]{8} is the first of/);
    killed.kill('SIGKILL');
    await killed.ended();
    const between = await encryption('status');
    assert.match(
      between.stdout,
      /^rotation +rewriting since \S+ \((key-\d+-[0-9a-f]{8})\)\nkeys +key-\d+-[0-9a-f]{8}, first\nto write +[1-9]/m,
      between.stderr,
    );
    const [, name] = /\((key-\d+-[0-9a-f]{8})\)/.exec(between.stdout)!;
    const rotating = encryption('rotate');
    let made = 0;
    let ended = false;
    const done = rotating.finally(() => (ended = true));
    while (!ended) await makeSecret(`meanwhile-${made++}`);
    const { code, stdout, stderr } = await done;
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`${name} is the only key of `));
    const text = await readFile(config, 'utf8');
    assert.ok(!text.includes('first') && text.includes(name!) && text.includes('identity'), text);
    assert.equal((await stat(config)).mode & 0o777, 0o600);
    const finished = await encryption('status');
    assert.match(
      finished.stdout,
      new RegExp(`^rotation +finished since \\S+ \\(${name}\\)\\nkeys +${name}\\nSTORED AS +VALUES\\n`),
    );
    assert.doesNotMatch(finished.stdout, /:first:|not encrypted/);
    await down();
    await up();
    const listed = await kubectl('get', 'secrets', '-o', 'json');
    const { items } = JSON.parse(listed.stdout) as { items: { metadata: { name: string }; data: { name: string } }[] };
    assert.deepEqual(
      items.map(({ metadata, data }) => [metadata.name, Buffer.from(data.name, 'base64').toString()]).toSorted(),
      ['a', 'b', 'c', ...Array.from({ length: made }, (_, at) => `meanwhile-${at}`)]
        .map((each) => [each, each])
        .toSorted(),
      listed.stderr,
    );
    assert.match((await kubectl('-n', 'kube-system', 'get', 'secret', 'keelson-encryption-probe')).stderr, /not found/);
  });

  test('bad input gives one line', async () => {
    const identity = join(folder, 'identity.yaml');
    const text = 'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n';
    await writeFile(identity, `${text}- resources: [secrets]\n  providers: [{identity: {}}]\n`);
    const other = join(folder, 'other.yaml');
    await writeFile(
      other,
      `${text}- resources: [secrets]\n  providers: [{aescbc: {keys: [{name: x, secret: ${secretOf(7)}}]}}]\n`,
    );
    for (const [args, message] of [
      [['rotate', `--data-dir=${dataDir}`], /--encryption-provider-config is needed/],
      [
        ['rotate', `--data-dir=${dataDir}`, '--encryption-provider-config=/none'],
        /cannot use the encryption configuration \/none: /,
      ],
      [['rotate', `--data-dir=${dataDir}`, `--encryption-provider-config=${identity}`], /there is no key to rotate/],
      [
        ['status', `--data-dir=${dataDir}`, `--encryption-provider-config=${other}`],
        /no key of the file reads \/registry\//,
      ],
      [['rotate', `--data-dir=${folder}/none`, `--encryption-provider-config=${config}`], /no cluster runs on /],
    ] as const) {
      const { code, stderr } = await keelson(['encryption', ...args]);
      assert.match(stderr, message);
      assert.deepEqual([code === 0, stderr.trim().split('\n').length], [false, 1], stderr);
    }
  });
});
