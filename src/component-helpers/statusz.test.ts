import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseYaml } from '../api/codec/yaml.ts';
import { parseTime } from '../api/time.ts';
import { statusz, type StatuszPage } from './statusz.ts';

const startedMs = parseTime('2026-01-02T03:04:05Z');
const page = (seconds: number): StatuszPage => ({
  component: 'kube-thing',
  startedMs,
  nowMs: startedMs + seconds * 1000,
  paths: ['/', '/readyz/ping', '/livez', '/readyz/log', '/apis/apps/v1', '/api', '/openapi/v2', '/.well-known/x'],
});
const WARNING =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

describe('/statusz', () => {
  it('is a text for people', () => {
    const { status, contentType, body } = statusz(undefined, page(3600 * 25 + 61));
    assert.deepEqual([status, contentType], [200, 'text/plain; charset=utf-8']);
    const lines = [
      '',
      'kube-thing statusz',
      WARNING,
      '',
      'Started:  Fri Jan  2 03:04:05 UTC 2026',
      'Up:  25 hr 01 min 01 sec',
      'Go version:  none',
      'Binary version:  1.36.0',
      'Emulation version:  1.36',
      'Paths:  /livez /readyz',
      '',
    ];
    assert.deepEqual(body.split('\n'), lines);
  });

  it('has another format each second, so that clients cannot parse it', () => {
    const forms = [0, 1, 2, 3].map((seconds) => /^Go version(.*)none$/m.exec(statusz('', page(seconds)).body)?.[1]);
    assert.deepEqual(forms, [': ', ':  ', '= ', '  ']);
  });

  for (const version of ['v1alpha1', 'v1beta1'])
    for (const [type, parse] of [
      ['json', JSON.parse],
      ['yaml', (text: string) => parseYaml(text).value],
    ] as const)
      it(`is an object of ${version} in ${type} for clients that name it`, () => {
        const accept = `application/${type};v=${version};g=config.k8s.io;as=Statusz`;
        const { status, contentType, body } = statusz(accept, page(61.9));
        assert.deepEqual([status, contentType], [200, `application/${type}`]);
        assert.deepEqual(parse(body), {
          kind: 'Statusz',
          apiVersion: `config.k8s.io/${version}`,
          metadata: { name: 'kube-thing' },
          startTime: '2026-01-02T03:04:05Z',
          uptimeSeconds: 61,
          goVersion: 'none',
          binaryVersion: '1.36.0',
          emulationVersion: '1.36',
          paths: ['/livez', '/readyz'],
        });
      });

  const rows: [accept: string, answer: string][] = [
    ['text/plain', 'text'],
    ['*/*', 'text'],
    ['text/*', 'text'],
    ['application/json;v=foo;g=config.k8s.io;as=Statusz,*/*', 'text'],
    ['text/plain;q=0.5,application/json;v=v1beta1;g=config.k8s.io;as=Statusz', 'json'],
    ['application/json', '406'],
    ['application/*', '406'],
    ['application/json;v=v1alpha1;g=config.k8s.io', '406'],
    ['application/json;v=v1alpha1;as=Statusz', '406'],
    ['application/json;g=config.k8s.io;as=Statusz', '406'],
    ['application/json;v=v1alpha1;g=config.k8s.io;as=Flagz', '406'],
    ['text/plain;v=v1alpha1;g=config.k8s.io;as=Statusz', '406'],
    ['application/xml', '406'],
  ];
  for (const [accept, answer] of rows)
    it(`Accept: ${accept}: ${answer}`, () => {
      const { status, contentType, body } = statusz(accept, page(1));
      assert.equal(status === 406 ? '406' : contentType.startsWith('text/') ? 'text' : 'json', answer);
      if (status === 406)
        assert.equal(
          body,
          'only the following media types are accepted: application/json, application/yaml, text/plain',
        );
    });
});
