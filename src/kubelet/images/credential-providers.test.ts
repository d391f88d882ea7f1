/** Credential provider programs: their configuration, their input, and how long answers are cached. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defined } from '../../base/defined-fixture.ts';
import type { Pod, ServiceAccount } from '../../api/gen/core-v1.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { readCredentialProviders, type CredentialProvider } from './credential-provider-config.ts';
import { createCredentialProviders, type CredentialProviders } from './credential-providers.ts';
import { parseImageReference } from '../../api/image-reference.ts';
import { credentialsFor } from './pull-credentials.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'team', uid: 'u' },
  spec: { serviceAccountName: 'bot', containers: [] },
};

describe('the configuration of credential providers', () => {
  const provider = {
    name: 'ecr',
    matchImages: ['*.registry.example'],
    defaultCacheDuration: '12h',
    apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
  };
  const document = (...providers: object[]): string =>
    JSON.stringify({ apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig', providers });

  async function read(files: Readonly<Record<string, string>>, config = '/c/config.yaml') {
    const platform = createSimPlatform();
    await platform.files.makeDir('/bin-dir');
    await platform.files.makeDir('/c');
    await platform.files.writeFile('/bin-dir/ecr', '');
    await platform.files.writeFile('/bin-dir/gcr', '');
    for (const [name, text] of Object.entries(files)) await platform.files.writeFile(`/c/${name}`, text);
    return readCredentialProviders(platform.files, { config, binDir: '/bin-dir' });
  }

  it('reads a file, and a folder of files in the order of their names', async () => {
    const [first] = await read({
      'config.yaml': document({ ...provider, args: ['get'], env: [{ name: 'A', value: 'b' }] }),
    });
    assert.deepEqual(defined(first), {
      name: 'ecr',
      matchImages: ['*.registry.example'],
      defaultCacheDurationMs: 12 * 3_600_000,
      apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
      args: ['get'],
      env: { A: 'b' },
    });
    const both = { '20.json': document(provider), '10.yaml': document({ ...provider, name: 'gcr' }), notes: '' };
    assert.deepEqual(
      (await read(both, '/c')).map(({ name }) => name),
      ['gcr', 'ecr'],
    );
  });

  const token = { serviceAccountTokenAudience: 'a', cacheType: 'Token', requireServiceAccount: true };
  const wrong: [string, string, RegExp][] = [
    ['another kind', '{"apiVersion":"v1","kind":"Pod"}', /is no CredentialProviderConfig/],
    ['no providers', document(), /at least 1 item in plugins/],
    ['an unknown field', document({ ...provider, match: [] }), /unknown field "providers\[0\]\.match"/],
    ['no name', document({ ...provider, name: '' }), /providers\[0\]\.name: Required/],
    ['a path', document({ ...provider, name: '../ecr' }), /cannot be a path/],
    ['no program', document({ ...provider, name: 'acr' }), /plugin binary executable \/bin-dir\/acr did not exist/],
    ['twice', document(provider, provider), /"ecr" is not unique/],
    ['no images', document({ ...provider, matchImages: [] }), /matchImages: Required/],
    ['no duration', document({ ...provider, defaultCacheDuration: 'soon' }), /defaultCacheDuration/],
    ['another version', document({ ...provider, apiVersion: 'v9' }), /apiVersion: Unsupported value: "v9"/],
    [
      'no audience',
      document({ ...provider, tokenAttributes: { ...token, serviceAccountTokenAudience: '' } }),
      /Audience: Required/,
    ],
    [
      'no cache type',
      document({ ...provider, tokenAttributes: { ...token, cacheType: '' } }),
      /cacheType: Unsupported/,
    ],
    [
      'a key on both lists',
      document({
        ...provider,
        tokenAttributes: {
          ...token,
          requiredServiceAccountAnnotationKeys: ['k'],
          optionalServiceAccountAnnotationKeys: ['k'],
        },
      }),
      /both required and optional: k/,
    ],
  ];
  for (const [name, text, expected] of wrong)
    it(`refuses ${name}`, () => assert.rejects(read({ 'config.yaml': text }), expected));
});

interface Rig {
  readonly platform: SimPlatform;
  readonly asked: object[];
  readonly providers: CredentialProviders;
  answer: object;
  exitCode: number;
}

function rig(changes: Partial<CredentialProvider> = {}, account?: ServiceAccount): Rig {
  const platform = createSimPlatform();
  const asked: object[] = [];
  const provider: CredentialProvider = {
    name: 'ecr',
    matchImages: ['*.registry.example'],
    defaultCacheDurationMs: 60_000,
    apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    args: [],
    env: {},
    ...changes,
  };
  const made: Rig = {
    platform,
    asked,
    answer: {
      kind: 'CredentialProviderResponse',
      apiVersion: provider.apiVersion,
      cacheKeyType: 'Registry',
      auth: { '*.registry.example': { username: 'u', password: 'p' } },
    },
    exitCode: 0,
    providers: createCredentialProviders(
      {
        ...platform,
        ...(account && {
          accounts: {
            get: async () => account,
            token: async (_namespace, _name, { spec }) => `token of ${spec?.audiences?.[0]}`,
          },
        }),
      },
      { providers: [provider], binDir: '/bin-dir' },
    ),
  };
  platform.exec.program('ecr', ({ options }) => {
    asked.push(JSON.parse(String(options.input)) as object);
    return { exitCode: made.exitCode, stdout: JSON.stringify(made.answer), stderr: 'no network' };
  });
  return made;
}

describe('credential providers', () => {
  const [one, two] = ['eu.registry.example/a:1', 'eu.registry.example/b:1'].map(parseImageReference) as [
    ReturnType<typeof parseImageReference>,
    ReturnType<typeof parseImageReference>,
  ];

  it('are run for matching images, once for all simultaneous requests', async () => {
    const { providers, asked } = rig();
    assert.deepEqual(await providers.configsFor(parseImageReference('other.example/a'), pod), []);
    const [first, second] = await Promise.all([providers.configsFor(one, pod), providers.configsFor(one, pod)]);
    assert.deepEqual(asked, [
      { kind: 'CredentialProviderRequest', apiVersion: 'credentialprovider.kubelet.k8s.io/v1', image: one.pullName },
    ]);
    assert.deepEqual(first, second);
    assert.deepEqual(credentialsFor(one, first), [{ credential: { username: 'u', password: 'p' } }]);
  });

  const keeping: { keyType: string; duration?: string; advanceMs?: number; other?: boolean; asks: number }[] = [
    { keyType: 'Registry', other: true, asks: 1 },
    { keyType: 'Global', other: true, asks: 1 },
    { keyType: 'Image', other: true, asks: 2 },
    { keyType: 'Image', asks: 1 },
    { keyType: 'Image', advanceMs: 60_000, asks: 2 },
    { keyType: 'Image', duration: '2m', advanceMs: 60_000, asks: 1 },
    { keyType: 'Image', duration: '0s', asks: 2 },
  ];
  for (const { keyType, duration, advanceMs = 0, other, asks } of keeping)
    it(`keep an answer by ${keyType}, for ${duration ?? 'the default'}: ${other ? 'another image' : 'the same'} after ${advanceMs} ms`, async () => {
      const made = rig();
      made.answer = { ...made.answer, cacheKeyType: keyType, ...(duration && { cacheDuration: duration }) };
      await made.providers.configsFor(one, pod);
      await made.platform.clock.advance(advanceMs);
      await made.providers.configsFor(other ? two : one, pod);
      assert.equal(made.asked.length, asks);
    });

  it('provide nothing when they fail or print something else, and are run again', async () => {
    const made = rig();
    made.exitCode = 1;
    assert.deepEqual(await made.providers.configsFor(one, pod), []);
    made.exitCode = 0;
    const { answer } = made;
    for (const wrong of [
      { ...answer, apiVersion: 'v9' },
      { ...answer, cacheKeyType: 'Node' },
    ]) {
      made.answer = wrong;
      assert.deepEqual(await made.providers.configsFor(one, pod), []);
    }
    made.answer = answer;
    assert.equal((await made.providers.configsFor(one, pod)).length, 1);
    assert.equal(made.asked.length, 4);
  });

  const tokenAttributes = {
    serviceAccountTokenAudience: 'registry',
    cacheType: 'ServiceAccount',
    requireServiceAccount: true,
    requiredServiceAccountAnnotationKeys: ['role'],
    optionalServiceAccountAnnotationKeys: ['region'],
  } as const;
  const bot = (annotations: Record<string, string>): ServiceAccount => ({
    metadata: { name: 'bot', uid: 'sa', annotations },
  });

  it("get a token of the pod's service account where they want one, with the annotations they name", async () => {
    const { providers, asked } = rig({ tokenAttributes }, bot({ role: 'puller', other: 'x' }));
    const { namespace = '' } = pod.metadata;
    const [answer] = await providers.configsFor(one, pod);
    assert.deepEqual(answer?.source, { serviceAccount: { namespace, name: pod.spec?.serviceAccountName, uid: 'sa' } });
    assert.deepEqual(asked, [
      {
        kind: 'CredentialProviderRequest',
        apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
        image: one.pullName,
        serviceAccountToken: 'token of registry',
        serviceAccountAnnotations: { role: 'puller' },
      },
    ]);
  });

  it('are not run without the account or the annotation they require', async () => {
    const [lacking, alone] = [rig({ tokenAttributes }, bot({})), rig({ tokenAttributes })];
    for (const { providers, asked } of [lacking, alone]) {
      assert.deepEqual(await providers.configsFor(one, pod), []);
      assert.deepEqual(asked, []);
    }
    const optional = rig({ tokenAttributes: { ...tokenAttributes, requireServiceAccount: false } });
    assert.equal((await optional.providers.configsFor(one, pod)).length, 1);
  });
});
