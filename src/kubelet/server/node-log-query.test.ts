/** Queries of the node's logs: refused ones, the arguments of journalctl, and the files that are read where it has no entries. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import type { ByteSink } from '../../platform/streams.ts';
import { createKubeletServer } from './kubelet-server.ts';
import { readNodeLogQuery } from './node-log-query.ts';

const UNITS = 'kubelet.service\ncontainerd.service\nkube-proxy.service\n';

async function server(options: { readonly systemLogQuery?: boolean; readonly journald?: boolean } = {}) {
  const platform = createSimPlatform();
  if (options.journald !== false)
    platform.exec.program('journalctl', ({ args }) => ({
      exitCode: 0,
      stdout: args[0] === '--field' ? UNITS : 'lines of the journal\n',
    }));
  await platform.files.makeDir('/var/log/deep');
  await platform.files.writeFile('/var/log/plain', 'plain\n');
  await platform.files.writeFile('/var/log/named.log', 'named\n');
  await platform.files.writeFile('/var/log/deep/deep.log', 'deep\n');
  await platform.files.makeDir('/etc');
  await platform.files.writeFile('/etc/secret', 'secret\n');
  await platform.files.symlink('/etc/secret', '/var/log/away.log');
  await platform.files.symlink('named.log', '/var/log/near');
  const handler = createKubeletServer({
    platform,
    auth: { authenticate: async () => ({ name: 'api', groups: [] }), authorize: async () => true },
    systemLogDirectory: '/var/log',
    systemLogQuery: options.systemLogQuery ?? true,
  } as unknown as Parameters<typeof createKubeletServer>[0]);
  const ask = (query: string, more: { path?: string; method?: string; signal?: AbortSignal } = {}) => {
    const { path = '/logs/', method = 'GET', signal = new AbortController().signal } = more;
    const request = { method, path, query, headers: {}, signal } as unknown as Parameters<typeof handler>[0];
    return Promise.resolve(handler(request));
  };
  async function get(query: string, path = '/logs/', method = 'GET'): Promise<readonly [number, string]> {
    const response = await platform.clock.drive(ask(query, { path, method }));
    assert.ok(response.kind !== 'upgrade');
    const chunks: Uint8Array[] = [];
    if (response.kind === 'bytes') chunks.push(...response.chunks);
    else if (response.kind === 'stream')
      await platform.clock.drive(
        response.run({ write: async (chunk: Uint8Array) => void chunks.push(chunk) } as unknown as ByteSink),
      );
    return [response.status, Buffer.concat(chunks).toString()];
  }
  const asked = (): (readonly string[])[] =>
    platform.exec.invocations.map(({ args }) => args).filter(([first]) => first !== '--field');
  return { platform, ask, get, asked };
}

describe('queries of the node’s logs', () => {
  it('read the journal of services that it knows', async () => {
    const t = await server();
    assert.deepEqual(await t.get('query=kubelet&query=containerd'), [200, 'lines of the journal\n']);
    const options =
      'sinceTime=2026-01-01T00:00:00Z&untilTime=2026-01-02T01:00:00%2B01:00&tailLines=5&boot=-1&pattern=err.*';
    await t.get(`query=kubelet&${options}`);
    assert.deepEqual(t.asked(), [
      ['--utc', '--no-pager', '--output=short-precise', '--unit=kubelet', '--unit=containerd'],
      [
        '--utc',
        '--no-pager',
        '--output=short-precise',
        '--since=2026-01-01 00:00:00 UTC',
        '--until=2026-01-02 00:00:00 UTC',
        '--lines=5',
        '--unit=kubelet',
        '--grep=err.*',
        '--boot=-1',
      ],
    ]);
  });

  it('read files of services that the journal does not know, and of any where there is none', async () => {
    const t = await server();
    assert.deepEqual(await t.get('query=plain'), [200, 'plain\n']);
    assert.deepEqual(await t.get('query=named&query=deep'), [200, 'named\ndeep\n']);
    assert.deepEqual(await t.get('query=kubelet&query=near'), [200, 'lines of the journal\nnamed\n']);
    assert.deepEqual(await t.get('query=proxy'), [200, '\nlog not found for proxy\n'], 'no part of kube-proxy.service');
    assert.deepEqual(await t.get('query=none'), [200, '\nlog not found for none\n']);
    assert.deepEqual(await t.get('query=away'), [200, '\nlog not found for away\n']);
    const [, text] = await t.get('query=plain&tailLines=1');
    assert.equal(
      text,
      '\noptions present and query resolved to log files for [plain]\ntry without specifying options\n',
    );
    const bare = await server({ journald: false });
    assert.deepEqual(await bare.get('query=kubelet'), [200, '\nlog not found for kubelet\n']);
  });

  it('read one file by its name', async () => {
    const t = await server();
    assert.deepEqual(await t.get('query=/named.log'), [200, 'named\n']);
    assert.deepEqual(await t.get('query=deep%5Cdeep.log'), [200, 'deep\n']);
    assert.deepEqual(await t.get('query=/near'), [200, 'named\n']);
    assert.deepEqual(await t.get('query=../../var/../deep/../named.log'), [200, 'named\n']);
    const missing = (asked: string, path = asked): [number, string] => [
      406,
      `query: Invalid value: ["${asked}"]: stat /var/log${path}: no such file or directory`,
    ];
    assert.deepEqual(await t.get('query=/absent'), missing('/absent'));
    assert.deepEqual(await t.get('query=../etc/secret'), missing('../etc/secret', '/etc/secret'));
    assert.deepEqual(await t.get('query=/away.log'), missing('/away.log', '/etc/secret'));
    await t.platform.files.symlink('round', '/var/log/round');
    assert.match((await t.get('query=/round'))[1], /too many levels of symbolic links$/);
  });

  it('are read, by no other method', async () => {
    const t = await server();
    for (const query of ['query=kubelet', 'query=/named.log', 'query=']) {
      assert.deepEqual(await t.get(query, '/logs/', 'POST'), [405, '405: Method Not Allowed']);
    }
    assert.deepEqual(await t.get('query=kubelet', '/logs/', 'HEAD'), [200, '']);
    assert.deepEqual(t.asked(), []);
  });

  it('read the journal with a limited number at a time, and only while the client waits', async () => {
    const t = await server();
    const signals: AbortSignal[] = [];
    t.platform.exec.program('journalctl', ({ args, options }) => {
      if (args[0] === '--field') return { stdout: UNITS };
      signals.push(options.signal!);
      return new Promise(() => undefined);
    });
    const client = new AbortController();
    const waiting = [1, 2, 3, 4].map(() => t.ask('query=kubelet', { signal: client.signal }));
    assert.deepEqual(await t.get('query=kubelet'), [429, 'too many queries of logs at a time, try again later\n']);
    assert.equal(signals.length, 4);
    client.abort();
    assert.ok(signals.every(({ aborted }) => aborted));
    const ended = await t.platform.clock.drive(Promise.all(waiting));
    assert.deepEqual(
      ended.map((response) => response.kind !== 'upgrade' && response.status),
      [499, 499, 499, 499],
    );
    assert.equal((await t.get('query=none'))[0], 200);
  });

  it('leave the listing as it is, and are not served unless that is configured', async () => {
    const t = await server();
    assert.match((await t.get(''))[1], /named\.log/);
    assert.deepEqual(await t.get('', '/logs/plain'), [200, 'plain\n']);
    assert.deepEqual(await t.get('query=kubelet', '/logs/plain'), [406, 'path not allowed in query mode\n']);
    const off = await server({ systemLogQuery: false });
    assert.match((await off.get('query=kubelet'))[1], /named\.log/);
    assert.deepEqual(off.asked(), []);
  });

  const refused: readonly [string, number, string | RegExp][] = [
    ['query=', 400, /^query: Invalid value: .*: query cannot be empty$/],
    ['query=a&boot=x', 400, 'boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax'],
    ['query=a&sinceTime=today&untilTime=1', 400, /^\[sinceTime: .*: invalid time format, untilTime: .*\]$/],
    ['query=a;b', 406, 'query: Invalid value: "a;b": input contains unsupported characters'],
    ['query=-u%20a', 406, /input contains unsupported characters$/],
    [`query=${'a'.repeat(257)}`, 406, /: length must be less than 100$/],
    ['query=a&query=b&query=c&query=d&query=e', 406, 'query: Too many: 5: must have at most 4 items'],
    ['tailLines=3', 406, 'query: Required value: cannot be empty with options'],
    ['query=a&query=/b', 406, /: cannot specify a file and service$/],
    ['query=/a&query=/b', 406, /: cannot specify more than one file$/],
    ['query=/a&tailLines=1', 406, /: cannot specify file with options$/],
    ['query=a&boot=1', 406, 'boot: Invalid value: 1: must be less than 1'],
    ['query=a&tailLines=100001', 406, 'tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive'],
    ['query=a&pattern=%5Bx', 406, /^pattern: Invalid value: "\[x": /],
    [
      'query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z',
      406,
      'untilTime: Invalid value: "2026-01-01T00:00:00Z": must be after `sinceTime`',
    ],
  ];
  for (const [query, status, message] of refused) {
    it(`are refused: ${query.slice(0, 60)}`, async () => {
      await assert.rejects(
        readNodeLogQuery(query, async () => undefined),
        { status, message },
      );
    });
  }
});
