/** The arguments and order of helm calls, with a function in place of helm. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { Secrets } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { createFakeApi } from '../../client/fake-api-fixture.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import type { ExecResult } from '../../platform/exec.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createHelmRunner, runTimeoutMs } from './helm-runner.ts';
import type { HelmChart, HelmChartSpec } from './helm-kinds.ts';
import { readRelease, requestHash, setArguments, type ReferencedObjects } from './release-request.ts';

const SECRETS: Record<string, Record<string, string>> = {
  auth: { username: 'me', password: 'secret' },
  pair: { 'tls.crt': 'CERT', 'tls.key': 'KEY' },
  values: { a: 'x: 1', b: 'x: 2' },
  docker: { '.dockerconfigjson': '{}' },
};
const referenced: ReferencedObjects = {
  secret: async (name) => SECRETS[name],
  configMap: async () => ({ b: 'CA-B', a: 'CA-A' }),
  chartFile: async () => 'RklMRQ==',
};

const requestOf = (spec: HelmChartSpec, config?: HelmChartSpec) => {
  const metadata = { name: 'web', namespace: 'apps', uid: 'u', resourceVersion: '1' };
  return readRelease(
    { metadata, spec } as Stored<HelmChart>,
    config && { metadata, spec: config },
    referenced,
    '10.0.0.1:6443',
  );
};

type Answers = Readonly<Record<string, Partial<ExecResult>>>;

const NOT_FOUND = { exitCode: 1, stderr: 'Error: release: not found' };
const found = (status: string): Partial<ExecResult> => ({
  stdout: JSON.stringify({ info: { status }, version: 3, apply_method: 'ssa' }),
});

async function release(spec: HelmChartSpec, answers: Answers = { status: NOT_FOUND }, uninstall = false) {
  const platform = createSimPlatform();
  const { clock, files } = platform;
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  const principal = { name: 'test', groups: [] };
  const client = createInProcessClient({ handler: api.handler, principal, clock, userAgent: 'test' });
  const text = gzipSync(JSON.stringify({ name: 'web', info: { status: 'pending-install' } })).toString('base64');
  const labels = { owner: 'helm', name: 'web', version: '3', status: 'pending-install' };
  const data = { release: Buffer.from(text).toString('base64') };
  api.seed(Secrets, { metadata: { name: 'sh.helm.release.v1.web.v3', namespace: 'apps', labels }, data });
  const written: Record<string, { readonly mode: number; readonly text: string }> = {};
  platform.exec.program('helm', async ({ args, options }) => {
    for (const name of await files.readDir(options.cwd ?? '')) {
      const path = `${options.cwd}/${name}`;
      written[name] = { mode: (await files.stat(path)).mode, text: await files.readText(path) };
    }
    return answers[args[0] ?? ''] ?? {};
  });
  const runner = createHelmRunner(
    { platform, client, program: async () => '/opt/helm' },
    { folder: '/run/k/helm', user: 63_400, proxies: { https_proxy: 'p' }, kubeconfig: (token) => `token: ${token}` },
  );
  const request = await requestOf(spec);
  const { signal } = new AbortController();
  const outcome = uninstall
    ? await runner.uninstall(request, 'T', signal)
    : await runner.release(request, 'T', 'A'.repeat(64), signal);
  const { invocations } = platform.exec;
  return {
    outcome,
    invocations,
    written,
    commands: invocations.map(({ args }) => args),
    api,
    left: await files.readDir('/run/k/helm'),
  };
}

describe('helm', () => {
  test('gets its own files, an empty environment and a user without rights, and leaves nothing', async () => {
    const { invocations, written, left, commands } = await release({
      repo: 'https://charts.example.com',
      chart: 'shop',
      version: '1.0.0',
      authSecret: { name: 'auth' },
      repoCA: 'CA',
      repoCAConfigMap: { name: 'cas' },
      valuesContent: 'x: 0',
      dockerRegistrySecret: { name: 'docker' },
    });
    assert.deepEqual(left, []);
    for (const [name, { mode }] of Object.entries(written)) assert.equal(mode & 0o777, 0o600, name);
    assert.equal(written['kubeconfig']?.text, 'token: T');
    assert.equal(written['ca.pem']?.text, 'CA\nCA-A\nCA-B\n');
    const { repositories } = JSON.parse(written['repositories.yaml']?.text ?? '') as { repositories: object[] };
    assert.deepEqual(Object.entries(repositories[0]!).slice(0, 2), [
      ['name', 'repo'],
      ['url', 'https://charts.example.com'],
    ]);
    for (const { options, args } of invocations) {
      assert.deepEqual([options.inheritsEnv, options.user], [false, 63_400]);
      assert.equal(JSON.stringify([args, options.env]).includes('secret":"'), false);
      assert.equal(args.includes('secret') || args.includes('T'), false, 'nothing secret stands in arguments');
    }
    assert.deepEqual(
      commands.map(([command]) => command),
      ['status', 'repo', 'install'],
    );
    assert.deepEqual(commands[2]?.slice(-3), ['--', 'web', 'repo/shop']);
  });

  for (const [what, spec, answers, expected] of [
    ['not there', {}, { status: NOT_FOUND }, ['status', 'install']],
    ['deployed', {}, { status: found('deployed') }, ['status', 'upgrade']],
    ['failed', {}, { status: found('failed') }, ['status', 'uninstall', 'install']],
    ['failed, with the policy retry', { failurePolicy: 'retry' }, { status: found('failed') }, ['status', 'upgrade']],
    ['failed, with the policy abort', { failurePolicy: 'abort' }, { status: found('failed') }, ['status']],
    ['cut short in an upgrade', {}, { status: found('pending-upgrade') }, ['status', 'upgrade']],
    ['cut short in an install', {}, { status: found('pending-install') }, ['status', 'uninstall', 'install']],
    ['uninstalled with its history', {}, { status: found('uninstalled') }, ['status', 'install']],
  ] as const)
    test(`works on a release that is ${what}`, async () => {
      const { commands } = await release({ chartContent: 'AAAA', ...spec }, answers);
      assert.deepEqual(
        commands.map(([command]) => command),
        expected,
      );
    });

  test('finds a release that was cut short marked as failed', async () => {
    const { api } = await release({ chartContent: 'AAAA' }, { status: found('pending-install') });
    const [secret] = api.objects(Secrets);
    assert.equal(secret?.metadata.labels?.['status'], 'failed');
    const text = Buffer.from(secret?.data?.['release'] ?? '', 'base64').toString();
    const { info } = JSON.parse(gunzipSync(Buffer.from(text, 'base64')).toString()) as { info: { status: string } };
    assert.equal(info.status, 'failed');
  });

  test('that fails is quoted without its progress; one that does not end is reported', async () => {
    const stderr = 'level=WARN msg="x"\nI am busy\nError: INSTALLATION FAILED: no\ndetails';
    const failed = await release({ chartContent: 'AAAA' }, { status: NOT_FOUND, install: { exitCode: 1, stderr } });
    assert.deepEqual(failed.outcome, { ok: false, message: 'Error: INSTALLATION FAILED: no\ndetails' });
    const late = await release(
      { chartContent: 'AAAA' },
      { status: NOT_FOUND, install: { exitCode: 137, timedOut: true } },
    );
    assert.match(late.outcome.message, /did not end in time/);
    const away = await release(
      { chartContent: 'AAAA' },
      { status: { exitCode: 1, stderr: 'Error: connection refused' } },
    );
    assert.deepEqual([away.outcome.ok, away.commands.length], [false, 1], 'what cannot be asked is not installed');
  });

  test('uninstalls a release that may be missing', async () => {
    const { commands } = await release({ chartContent: 'AAAA', timeout: '90s', targetNamespace: 't' }, {}, true);
    assert.deepEqual(commands, [
      ['uninstall', '--namespace=t', '--wait', '--ignore-not-found', '--timeout=1m30s', '--', 'web'],
    ]);
  });

  test('gets each setting of the chart as its argument', async () => {
    const spec: HelmChartSpec = {
      chart: 'oci://r.example.com/shop',
      createNamespace: true,
      takeOwnership: true,
      insecureSkipTLSVerify: true,
      plainHTTP: true,
      timeout: '10m',
      forceConflicts: true,
      repoCA: 'CA',
    };
    const { commands } = await release(spec);
    const [, , ...args] = commands[1]!;
    assert.deepEqual(
      args.map((arg) => arg.replace(/\/run\/k\/helm\/[0-9a-f]+/, '')),
      [
        '--create-namespace',
        '--take-ownership',
        '--ca-file=/ca.pem',
        '--insecure-skip-tls-verify',
        '--plain-http',
        '--timeout=10m0s',
        `--labels=helmcharts.helm.cattle.io/configHash=${'A'.repeat(63)}`,
        '--server-side=true',
        '--force-conflicts',
        '--',
        'web',
        'oci://r.example.com/shop',
      ],
    );
  });
});

describe('a request', () => {
  test('has values in k3s’s order: content, values, Secrets, first the chart’s, then its config’s', async () => {
    const secret = { name: 'values', keys: ['b', 'a'] };
    const { values, failurePolicy } = await requestOf(
      { chartContent: 'A', valuesSecrets: [secret], values: { v: 1 }, valuesContent: 'c: 1', failurePolicy: 'abort' },
      { valuesContent: 'd: 1', failurePolicy: 'retry' },
    );
    assert.deepEqual(Object.values(values), ['c: 1', '"v": 1\n', 'x: 2', 'x: 1', 'd: 1']);
    assert.deepEqual(Object.keys(values).toSorted(), Object.keys(values));
    assert.equal(failurePolicy, 'retry');
  });

  test('has the hash of its release: neither credentials nor ignored Secrets change it', async () => {
    const hashOf = async (spec: HelmChartSpec) => requestHash(await requestOf(spec), '', (text) => text);
    const spec: HelmChartSpec = {
      chart: 'a',
      repo: 'https://x',
      authSecret: { name: 'auth' },
      valuesSecrets: [{ name: 'values', keys: ['a'], ignoreUpdates: true }],
    };
    const before = await hashOf(spec);
    const kept = structuredClone(SECRETS);
    Object.assign(SECRETS, { auth: { username: 'other', password: 'other' }, values: { a: 'x: 9' } });
    assert.equal(await hashOf(spec), before);
    assert.notEqual(await hashOf({ ...spec, version: '2' }), before);
    Object.assign(SECRETS, kept);
  });

  test('keeps each value of `values` and `set` as it is: helm reads YAML 1.1, and integers have 64 bits', async () => {
    const plain = { a: 'yes', b: 'on', c: 'n', d: '1_000', e: '0o14', f: '2001-01-01', y: true, long: 'x '.repeat(90) };
    const big = 9_007_199_254_740_993n;
    const set = { big } as unknown as HelmChartSpec['set'];
    const request = await requestOf({ chartContent: 'A', values: { ...plain, big }, set });
    const text = Object.values(request.values)[0]!;
    assert.deepEqual(parse(text, { version: '1.1', intAsBigInt: true }), { ...plain, big });
    for (const key of Object.keys(plain))
      assert.match(text, new RegExp(`^"${key}": (".*"|true)$`, 'm'), 'no bare text');
    assert.deepEqual(request.setArguments, ['--set', 'big=9007199254740993']);
    const other = await requestOf({ chartContent: 'A', values: { ...plain, big: big + 1n }, set });
    const hashOf = (each: typeof request) => requestHash(each, '', (hashed) => hashed);
    assert.notEqual(hashOf(request), hashOf(other));
  });

  test('has a limit of time that a timer can hold, however long its timeout is', async () => {
    const { timeoutMs } = await requestOf({ chartContent: 'A', timeout: '1000h' });
    assert.equal(timeoutMs, 3_600_000_000);
    assert.equal(runTimeoutMs({ timeoutMs }), 2 ** 31 - 1);
  });

  test('types numbers, booleans and null, and escapes the commas of texts', () => {
    assert.deepEqual(setArguments({ b: 'x,y\\,z', a: 7, c: 'true', d: 'NULL' }), [
      '--set',
      'a=7',
      '--set-string',
      'b=x\\,y\\,z',
      '--set',
      'c=true',
      '--set',
      'd=NULL',
    ]);
  });
});
