import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { applyRegistries } from './apply-registries.ts';
import { hostsToml } from './hosts-toml.ts';
import { parseRegistries } from './registries-file.ts';

const K3S = `
mirrors:
  docker.io:
    endpoint: ["https://mirror.example.com:5000", plain.example.com]
  quay.io:
    endpoint: [http://10.0.0.1/v2/quay]
    rewrite: {"^(.*)$": "team/$1"}
  "*": {endpoint: ["https://mirror.example.com:5000"]}
configs:
  mirror.example.com:5000:
    auth: {username: me, password: "p\\"w"}
    tls: {ca_file: /ca.pem, cert_file: /c.pem, key_file: /k.pem}
  own.example.com:
    tls: {insecure_skip_verify: true}
  "*":
    tls: {ca_file: /all.pem}
`;

test('mirrors, rewrites, TLS and credentials become hosts.toml files and credentials by host', () => {
  const { mirrors, auth } = parseRegistries(K3S, 'r');
  const hosts = Object.fromEntries(
    Object.entries(mirrors).map(([folder, mirror]) => [folder, hostsToml(mirror, () => undefined)]),
  );
  assert.deepEqual(Object.keys(hosts), [
    'docker.io',
    'quay.io',
    '_default',
    'mirror.example.com:5000',
    'own.example.com',
  ]);
  assert.equal(
    hosts['docker.io'],
    `# Written by Keelson from registries.yaml
server = "https://registry-1.docker.io"
ca = "/all.pem"

[host."https://mirror.example.com:5000"]
  capabilities = ["pull", "resolve"]
  ca = "/ca.pem"
  client = [["/c.pem", "/k.pem"]]

[host."https://plain.example.com"]
  capabilities = ["pull", "resolve"]
  ca = "/all.pem"
`,
  );
  assert.match(
    hosts['quay.io'] ?? '',
    /\[host\."http:\/\/10\.0\.0\.1\/v2\/quay\/team"\]\n.*\n {2}override_path = true/,
  );
  assert.doesNotMatch(hosts['_default'] ?? '', /^server/m);
  assert.match(hosts['own.example.com'] ?? '', /\[host\."https:\/\/own\.example\.com"\]\n.*\n {2}skip_verify = true/);
  assert.deepEqual(auth, { 'mirror.example.com:5000': { username: 'me', password: 'p"w' } });
});

describe('refused with file and key', () => {
  for (const [text, says] of [
    ['a: [', /^r: /],
    ['mirror: {}', /^r: mirror: unknown key; there are mirrors, configs$/],
    ['mirrors: {a: {endpoints: [x]}}', /^r: mirrors\.a\.endpoints: unknown key/],
    ['mirrors: {a: {endpoint: ["ftp://x"]}}', /^r: mirrors\.a\.endpoint: ftp:\/\/x is no URL/],
    ['mirrors: {a: {rewrite: {"^library/(.*)": "x/$1"}}}', /^r: mirrors\.a\.rewrite needs an endpoint/],
    [
      'mirrors: {a: {endpoint: [m.io], rewrite: {"(": x}}}',
      /^r: mirrors\.a\.rewrite: error parsing regexp: missing closing/,
    ],
    ['mirrors: {a: {endpoint: [m.io], rewrite: {"(?=x)": x}}}', /^r: mirrors\.a\.rewrite: error parsing regexp/],
    ['configs: {"*": {auth: {username: x}}}', /^r: configs\.\*\.auth: containerd sends credentials/],
    ['configs: {a: {auth: {user: x}}}', /^r: configs\.a\.auth\.user: unknown key/],
    ['configs: {a: {tls: {cert_file: /c}}}', /cert_file and key_file go together/],
    ['configs: {a: {tls: {insecure_skip_verify: please}}}', /must be true or false/],
  ] as const)
    test(text, () => assert.throws(() => parseRegistries(text, 'r'), { message: says }));
});

describe('a rewrite of all names is a path of containerd only where it is one', () => {
  for (const [target, path, name] of [
    ['$1', '', undefined],
    ['team/$1', '/v2/team', undefined],
    ['/team/a.b/${1}', '/v2/team/a.b', undefined],
    ['acme-$1', '', 'acme-library/nginx'],
    ['team/acme-$1', '', 'team/acme-library/nginx'],
    ['../x/$1', '', '../x/library/nginx'],
    ['team/../$1', '', 'team/../library/nginx'],
    ['team/./$1', '', 'team/./library/nginx'],
    ['team//x/$1', '', 'team/x/library/nginx'],
  ] as const)
    test(target, () => {
      const text = `mirrors: {a: {endpoint: [m.io], rewrite: {"^(.*)$": "${target}"}}}`;
      const endpoint = parseRegistries(text, 'r').mirrors['a']?.endpoints[0];
      assert.deepEqual([endpoint?.url, endpoint?.rewrite?.('library/nginx')], [`https://m.io${path}`, name]);
    });
});

test('files are written, leave with their registry, and never replace the user’s own', async () => {
  const platform = createSimPlatform();
  const { files } = platform;
  const hosts = (registry: string): string => `/d/registries/${registry}/hosts.toml`;
  assert.deepEqual(await applyRegistries(platform, '/d'), { auth: {} });
  await files.makeDir('/d/registries/user.io');
  await files.writeFile(hosts('user.io'), 'server = "https://user.io"\n');
  await files.writeFile('/d/registries.yaml', K3S);
  assert.deepEqual(Object.keys((await applyRegistries(platform, '/d')).auth), ['mirror.example.com:5000']);
  assert.match(await files.readText(hosts('quay.io')), /team/);
  await files.writeFile('/d/registries.yaml', 'mirrors: {docker.io: {endpoint: [m.io]}}');
  assert.deepEqual(await applyRegistries(platform, '/d'), { auth: {} });
  assert.deepEqual(await files.readDir('/d/registries'), ['docker.io', 'user.io']);
  await files.writeFile('/d/registries.yaml', 'mirrors: {user.io: {endpoint: [m.io]}}');
  await assert.rejects(
    applyRegistries(platform, '/d'),
    /registries\.yaml has user\.io, and so has .*user\.io\/hosts\.toml/,
  );
  await files.remove('/d/registries.yaml');
  await applyRegistries(platform, '/d');
  assert.deepEqual(await files.readDir('/d/registries'), ['user.io']);
});

test('only rewrites that containerd cannot do name the proxy, with its key in a file for root alone', async () => {
  const platform = createSimPlatform();
  const { files } = platform;
  await files.makeDir('/d');
  const prefix = 'mirrors: {a.io: {endpoint: [m.io], rewrite: {"(.*)": "team/$1"}}}';
  await files.writeFile('/d/registries.yaml', prefix);
  assert.equal((await applyRegistries(platform, '/d')).proxy, undefined);
  await files.writeFile(
    '/d/registries.yaml',
    'mirrors: {a.io: {endpoint: [m.io, "http://n.io/v2/x"], rewrite: {"^library/(.*)": "x/$1"}}}',
  );
  const { proxy } = await applyRegistries(platform, '/d');
  assert.ok(proxy);
  const [[name, key] = ['', '']] = Object.entries(proxy.headers);
  assert.equal(key.length, 43);
  assert.equal(
    await files.readText('/d/registries/a.io/hosts.toml'),
    `# Written by Keelson from registries.yaml
server = "https://a.io"
${[0, 1]
  .map(
    (index) => `
[host."${proxy.url(index)}"]
  capabilities = ["pull", "resolve"]
  override_path = true
  ca = "/d/registries/mirror-proxy-ca.pem"
  [host."${proxy.url(index)}".header]
    ${name} = "${key}"
`,
  )
  .join('')}`,
  );
  for (const name of ['a.io/hosts.toml', 'mirror-proxy-ca.pem'])
    assert.equal((await files.stat(`/d/registries/${name}`)).mode & 0o777, 0o600);
  assert.equal(await files.readText('/d/registries/mirror-proxy-ca.pem'), proxy.caPem);
  await proxy.close();
  await files.writeFile('/d/registries.yaml', prefix);
  await applyRegistries(platform, '/d');
  assert.deepEqual(await files.readDir('/d/registries'), ['a.io']);
});

test('the proxy is closed where its files cannot be written', async () => {
  const platform = createSimPlatform();
  await platform.files.makeDir('/d');
  await platform.files.writeFile('/d/registries.yaml', 'mirrors: {a.io: {endpoint: [m.io], rewrite: {a: b}}}');
  let open = 0;
  const listenHttp: typeof platform.listenHttp = async (options, handler) => {
    const server = await platform.listenHttp(options, handler);
    open += 1;
    const close = async (graceMs: number): Promise<void> => {
      open -= 1;
      await server.close(graceMs);
    };
    return { port: server.port, setCertificate: () => undefined, close };
  };
  const files = Object.assign(Object.create(platform.files) as typeof platform.files, {
    writeFileAtomic: () => Promise.reject(new Error('no space')),
  });
  await assert.rejects(applyRegistries({ ...platform, files, listenHttp }, '/d'), /no space/);
  assert.equal(open, 0);
});
