import assert from 'node:assert/strict';
import { it } from 'node:test';
import { loadSchedulerSetup } from './scheduler-setup.ts';
import { PreflightError } from '../preflight-error.ts';

const HEAD = 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n';

function platformWith(files: Readonly<Record<string, string>>): Parameters<typeof loadSchedulerSetup>[0] {
  return {
    files: {
      async readText(path) {
        const text = files[path];
        if (text === undefined) throw new Error(`ENOENT: ${path}`);
        return text;
      },
    },
    net: { http: () => Promise.reject(new Error('nobody is asked')) },
  };
}

it('makes profiles and extenders from a file', async () => {
  const text = `${HEAD}profiles: [{ schedulerName: a }, { schedulerName: b }]
extenders: [{ urlPrefix: 'https://x:1', filterVerb: f, tlsConfig: { caFile: /ca } }]`;
  const { config, extenders } = await loadSchedulerSetup(platformWith({ '/c': text, '/ca': 'PEM' }), '/c');
  assert.deepEqual(
    [config.profiles.map(({ schedulerName }) => schedulerName), extenders.map(({ name }) => name)],
    [['a', 'b'], ['https://x:1']],
  );
});

it('Accepts a Policy of early releases, in YAML or JSON', async () => {
  const policy = { kind: 'Policy', apiVersion: 'v1', predicates: [{ name: 'HostName' }], priorities: [] };
  const texts = [
    JSON.stringify(policy),
    'kind: Policy\napiVersion: v1\npredicates: [{ name: HostName }]\npriorities: []\n',
  ];
  for (const text of texts) {
    const { config } = await loadSchedulerSetup(platformWith({ '/c': text }), '/c');
    const [profile] = config.profiles;
    assert.deepEqual(
      [profile?.schedulerName, profile?.enabled.filter.includes('NodeName')],
      ['default-scheduler', true],
    );
  }
});

const refused: readonly (readonly [string, string | undefined, RegExp])[] = [
  ['a file that is not there', undefined, /--scheduler-config: \/c: ENOENT/],
  ['a field nobody knows', `${HEAD}speed: 9`, /--scheduler-config: \/c: unknown field "speed"/],
  ['a kubeconfig of its own', `${HEAD}clientConnection: { kubeconfig: /k }`, /clientConnection.kubeconfig: Forbidden/],
  [
    'certificates that are not there',
    `${HEAD}extenders: [{ urlPrefix: 'https://x:1', filterVerb: f, tlsConfig: { caFile: /ca } }]`,
    /ENOENT: \/ca/,
  ],
];
for (const [name, text, message] of refused)
  it(`refuses ${name}`, async () => {
    const platform = platformWith(text === undefined ? {} : { '/c': text });
    await assert.rejects(
      loadSchedulerSetup(platform, '/c'),
      (error) => error instanceof PreflightError && message.test(error.message),
    );
  });
